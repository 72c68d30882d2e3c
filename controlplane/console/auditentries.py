"""The audit log's pages: who did what, and one entry whole."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import ChangeList
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from apiserver.storage.models import AuditEntry
from controlplane.console.filters import (
    CodeFilter,
    GroupFilter,
    NamespaceFilter,
    ResourceFilter,
    SinceFilter,
    TenantFilter,
    UserFilter,
    VerbFilter,
)
from controlplane.console.readonly import (
    ReadOnlyAdmin,
    across_tenants,
    tenant_names,
    with_tenant_names,
)


def entry_url(row: AuditEntry) -> str:
    """With what the table is indexed by; the id alone would be looked for in all of it."""
    key = json.dumps([row.tenant_id, row.at.isoformat(), str(row.pk)], separators=(",", ":"))
    return reverse("admin:storage_auditentry_change", args=[quote(key)])


class _ByKey(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        with_tenant_names(self.result_list)

    def url_for_result(self, result: Any) -> str:
        return entry_url(result)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "who", "verb", "target", "code", "resource_version", "tenant", "source")
    list_filter = (
        TenantFilter,
        UserFilter,
        VerbFilter,
        CodeFilter,
        GroupFilter,
        ResourceFilter,
        NamespaceFilter,
        SinceFilter,
    )
    lookups = frozenset(
        {"since", "tenant", "user", "verb", "code", "group", "resource", "namespace"}
    )
    search_fields = ("=name",)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _ByKey

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> AuditEntry | None:
        try:
            tenant_id, at, pk = json.loads(object_id)
            moment = datetime.fromisoformat(at)
            return AuditEntry.objects.filter(tenant_id=tenant_id, at=moment, pk=UUID(pk)).first()
        except (ValueError, TypeError, AttributeError):
            return None

    @admin.display(description="user", ordering="user_name")
    def who(self, row: AuditEntry) -> str:
        return f"{row.user_name} as {row.acting}" if row.acting else row.user_name or "-"

    @admin.display(description="what")
    def target(self, row: AuditEntry) -> str:
        return row.target

    @admin.display(description="tenant")
    def tenant(self, row: Any) -> str:
        return "-" if row.tenant_id is None else str(row.tenant_name)

    @admin.display(description="from")
    def source(self, row: AuditEntry) -> str:
        return ", ".join(row.data.get("sourceIPs") or ()) or "-"

    @across_tenants
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id or ""))
        if row is None or not self.has_view_permission(request, row):
            raise Http404("no such entry")
        names = tenant_names(set() if row.tenant_id is None else {row.tenant_id})
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": str(row),
            "row": row,
            "tenant": "-"
            if row.tenant_id is None
            else names.get(row.tenant_id, f"#{row.tenant_id}"),
            "event": json.dumps(row.event, indent=2, ensure_ascii=False),
        }
        return TemplateResponse(request, "console/auditentry.html", context)
