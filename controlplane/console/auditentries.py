"""The audit log's pages: who did what, and one entry whole."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest
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
from controlplane.console.readonly import RowPage


def entry_url(row: AuditEntry) -> str:
    """With what the table is indexed by; the id alone would be looked for in all of it."""
    key = json.dumps([row.tenant_id, row.at.isoformat(), str(row.pk)], separators=(",", ":"))
    return reverse("admin:storage_auditentry_change", args=[quote(key)])


@admin.register(AuditEntry)
class AuditEntryAdmin(RowPage):
    page_template = "console/auditentry.html"
    what = "entry"
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

    def row_url(self, row: AuditEntry) -> str:
        return entry_url(row)

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

    @admin.display(description="from")
    def source(self, row: AuditEntry) -> str:
        return ", ".join(row.data.get("sourceIPs") or ()) or "-"

    def page(self, row: AuditEntry) -> dict[str, Any]:
        return {"event": json.dumps(row.event, indent=2, ensure_ascii=False)}
