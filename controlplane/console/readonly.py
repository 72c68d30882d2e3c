"""What every page of the console shares for now: looking, not touching. Writes go through the
API."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from unfold.admin import ModelAdmin

from apiserver.storage.visibility import django_everywhere
from controlplane.tenancy.models import Tenant


def across_tenants(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page that shows rows of all tenants. It is rendered here, because templates read what is
    left of QuerySets."""

    @wraps(view)
    def seeing(*args: Any, **kwargs: Any) -> HttpResponse:
        with django_everywhere():
            response = view(*args, **kwargs)
            return response.render() if isinstance(response, SimpleTemplateResponse) else response

    return seeing


class AllowedLookups:
    """A list can be narrowed by what it offers and nothing else. Django allows any column in a URL,
    and a column that is not shown can be guessed letter by letter:
    ``?data__data__password__startswith=``."""

    lookups: ClassVar[frozenset[str]] = frozenset()
    """Parameters of URLs: those of the list's filters."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup in self.lookups


class ReadOnlyAdmin(AllowedLookups, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    list_filter_submit = True
    list_per_page = 50
    show_full_result_count = False
    compressed_fields = True

    @across_tenants
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    @across_tenants
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        response: HttpResponse = super().changeform_view(
            request, object_id, form_url, extra_context
        )
        return response

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
    names = tenant_names({row.tenant_id for row in result_list if row.tenant_id is not None})
    for row in result_list:
        row.tenant_name = names.get(row.tenant_id, f"#{row.tenant_id}")
