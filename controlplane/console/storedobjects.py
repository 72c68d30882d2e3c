"""Lists of stored objects and events, and the page of one object. Rows are addressed by the tables'
real key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote as urlquote

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.admin.views.main import ORDER_VAR
from django.http import HttpRequest
from django.urls import reverse
from django.utils.dateparse import parse_datetime

from apiserver.storage.models import AuditEntry, EventRow
from controlplane.console.auditentries import entry_url
from controlplane.console.filters import (
    DeletingFilter,
    FinalizersFilter,
    GroupFilter,
    NamespaceFilter,
    ResourceFilter,
    TenantFilter,
)
from controlplane.console.models import StoredEvent, StoredObject
from controlplane.console.partsofnames import named
from controlplane.console.presentation import as_yaml, finalizers, managers
from controlplane.console.readonly import RowPage

_HISTORY = 50  # events on an object's page
_ANYWHERE = "*"
_ROWS_OF_THEIR_OWN = {"finalizers", "deleting"}
"""Parameters by which a list is narrowed to what is not in the key."""
_BEHIND_ALL = chr(0x10FFFF)  # behind a beginning: behind all that have it, in collation C


def object_key(row: Any) -> str:
    """The key of an object or of an event's object, as one path segment that JSON keeps apart."""
    return json.dumps(
        [row.tenant_id, row.api_group, row.resource, row.namespace, row.name], separators=(",", ":")
    )


def object_url(row: Any) -> str:
    return reverse("admin:console_storedobject_change", args=[quote(object_key(row))])


def with_makers(events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Events of one tenant, each with the audit entry of who made it as ``entry``, None where there
    is none (any more). The entry has the time of the event, by which the table is indexed."""
    listed = list(events)
    if not listed:
        return listed
    entries = AuditEntry.objects.filter(
        tenant_id=listed[0].tenant_id,
        at__in={event.at for event in listed},
        resource_version__in=[event.resource_version for event in listed],
    )
    makers = {entry.resource_version: entry for entry in entries}
    for event in listed:
        event.entry = makers.get(event.resource_version)
        event.entry_url = entry_url(event.entry) if event.entry is not None else ""
    return listed


def _last_of(key: dict[str, Any]) -> StoredObject | None:
    """What a deleted object was at its end, as long as the log has that."""
    event = EventRow.objects.filter(**key).order_by("-resource_version").first()
    if event is None:
        return None
    metadata = event.data.get("metadata", {})
    row = StoredObject(
        **key,
        uid=event.uid,
        resource_version=event.resource_version,
        data=event.data,
        finalizers=metadata.get("finalizers", []),
        deleting=False,
        created_at=parse_datetime(str(metadata.get("creationTimestamp"))) or event.at,
        size=event.size,
    )
    row.gone = event.at
    return row


def live_url(tenant: str, row: StoredObject) -> str:
    """The object's page in the console."""
    parts = (tenant, row.api_group or "core", row.resource, row.namespace or "-", row.name)
    return f"{reverse('console')}t/{'/'.join(urlquote(part, safe='') for part in parts)}"


class _StoredAdmin(RowPage):
    def row_url(self, row: StoredObject | StoredEvent) -> str:
        return object_url(row)

    @admin.display(description="resource", ordering="resource")
    def kind(self, row: Any) -> str:
        return f"{row.resource}.{row.api_group}" if row.api_group else str(row.resource)


@admin.register(StoredObject)
class StoredObjectAdmin(_StoredAdmin):
    page_template = "console/object.html"
    what = "object"
    list_display = (
        "name",
        "namespace",
        "kind",
        "tenant",
        "resource_version",
        "deletion",
        "finalizer_count",
        "size",
        "created_at",
    )
    list_filter = (
        TenantFilter,
        GroupFilter,
        ResourceFilter,
        NamespaceFilter,
        DeletingFilter,
        FinalizersFilter,
    )
    lookups = frozenset({"tenant", "group", "resource", "namespace", "deleting", "finalizers"})
    search_fields = ("name",)
    search_help_text = "Beginning of a name, or *part"

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """The names that begin with the text, which PostgreSQL 18 finds by skipping through the
        key's index; where none does, or the text begins with an asterisk, those that it is a part
        of, for which names are looked through."""
        text = search_term.strip()
        if text and not text.startswith(_ANYWHERE):
            begun = queryset.filter(name__gte=text, name__lt=text + _BEHIND_ALL)
            if begun.exists():
                return begun, False
        part = text.lstrip(_ANYWHERE)
        if not part:
            return queryset, False
        found = named(part, request.GET) if not _ROWS_OF_THEIR_OWN & request.GET.keys() else None
        if found is None or (found.are_more and ORDER_VAR in request.GET):
            return queryset.filter(name__icontains=part), False
        request.names_looked_at = found.only  # type: ignore[attr-defined]
        return found.of(queryset), False

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("data")

    @admin.display(description="deletion")
    def deletion(self, row: StoredObject) -> str:
        return "being deleted" if row.deleting else "-"

    @admin.display(description="finalizers")
    def finalizer_count(self, row: StoredObject) -> str:
        return ", ".join(row.finalizers) or "-"

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> StoredObject | None:
        try:
            tenant_id, *names = json.loads(object_id)
            group, resource, namespace, name = names
            if "\0" in "".join(names):
                return None
            key = {
                "tenant_id": int(tenant_id),
                "api_group": group,
                "resource": resource,
                "namespace": namespace,
                "name": name,
            }
            return StoredObject.objects.filter(**key).first() or _last_of(key)
        except (ValueError, TypeError, OverflowError):
            return None

    def page(self, row: StoredObject) -> dict[str, Any]:
        key = {
            k: getattr(row, k) for k in ("tenant_id", "api_group", "resource", "namespace", "name")
        }
        history = with_makers(
            StoredEvent.objects.filter(**key).order_by("-resource_version")[:_HISTORY]
        )
        return {
            "yaml": as_yaml(row.data),
            "managers": managers(row.data),
            "finalizers": finalizers(row.data),
            "owners": row.data.get("metadata", {}).get("ownerReferences", []),
            "history": history,
            "live_url": live_url(row.tenant_name, row),  # type: ignore[attr-defined]
        }


@admin.register(StoredEvent)
class StoredEventAdmin(_StoredAdmin):
    """The log, newest first within a tenant; each line leads to the object's page."""

    what = "event"
    list_display = ("resource_version", "change", "name", "namespace", "kind", "tenant", "at")
    list_filter = (TenantFilter, GroupFilter, ResourceFilter, NamespaceFilter)
    lookups = frozenset({"tenant", "group", "resource", "namespace"})

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> None:
        """None: an event has no page, Django's would show all that was ever in a Secret. Its
        version is not even a key."""

    @admin.display(description="change")
    def change(self, row: StoredEvent) -> str:
        return row.get_type_display()
