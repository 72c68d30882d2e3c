"""What every page of the console shares for now: looking, not touching. Writes go through the API."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from controlplane.tenancy.models import Tenant


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    list_filter_submit = True
    list_per_page = 50
    show_full_result_count = False
    compressed_fields = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


def tenant_names(tenant_ids: set[int]) -> dict[int, str]:
    """Names by number, in one query."""
    return dict(Tenant.objects.filter(pk__in=tenant_ids).values_list("pk", "name"))


def with_tenant_names(result_list: Any) -> None:
    """Puts ``tenant_name`` on each row of a page."""
    names = tenant_names({row.tenant_id for row in result_list})
    for row in result_list:
        row.tenant_name = names.get(row.tenant_id, f"#{row.tenant_id}")
