"""The filters beside lists of stored objects and events. `StoredFilterSet` says what each does to
the rows, by a prefix of the table's key or by a plain column; the classes below it say how the
console shows them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django_filters import CharFilter, FilterSet, NumberFilter
from unfold.contrib.filters.admin import DropdownFilter, TextFilter

from apiserver.kinds import catalog
from controlplane.tenancy.models import Tenant


@cache
def known_resources() -> list[tuple[str, str]]:
    """(group, plural) of the built-in stored resources."""
    return sorted({(r.storage.group, r.storage.resource) for r in catalog.resources().values()})


class StoredFilterSet(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """The parameters of a list's URL, under their names there."""

    tenant = CharFilter(method="by_tenant")
    group = CharFilter(method="by_group")
    resource = CharFilter("resource", strip=False)
    namespace = CharFilter("namespace", strip=False)
    finalizers = CharFilter(method="by_finalizers")
    deleting = CharFilter(method="by_deletion")
    user = CharFilter("user_name", strip=False)
    verb = CharFilter("verb")
    code = NumberFilter("code")

    def by_tenant(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        tenants = Tenant.objects.filter(name=value).values_list("pk", flat=True)
        return rows.filter(tenant_id__in=list(tenants))

    def by_group(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return rows.filter(api_group="" if value == "core" else value)

    def by_finalizers(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        if value == "yes":
            return rows.exclude(finalizers=[])
        return rows.filter(finalizers=[]) if value == "no" else rows

    def by_deletion(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return rows.filter(deleting=value == "yes")


class _Narrows:
    """Asks the filter of `StoredFilterSet` that has the name of its parameter."""

    parameter_name: str
    value: Callable[[], str | None]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        rows: QuerySet[Any] = StoredFilterSet(
            {self.parameter_name: self.value()}, queryset=queryset
        ).qs
        return rows


class TenantFilter(_Narrows, DropdownFilter):  # type: ignore[misc]  # unfold has no types
    title, parameter_name = "tenant", "tenant"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [(name, name) for name in Tenant.objects.values_list("name", flat=True)]


class GroupFilter(_Narrows, DropdownFilter):  # type: ignore[misc]
    title, parameter_name = "group", "group"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [
            (group or "core", group or "core")
            for group in sorted({g for g, _ in known_resources()})
        ]


class ResourceFilter(_Narrows, TextFilter):  # type: ignore[misc]
    title, parameter_name = "resource", "resource"


class NamespaceFilter(_Narrows, TextFilter):  # type: ignore[misc]
    title, parameter_name = "namespace", "namespace"


class SinceFilter(DropdownFilter):  # type: ignore[misc]
    """The audit log is indexed by tenant and time: without a span all of it would be sorted."""

    title, parameter_name = "since (else a day)", "since"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("7", "7 days"), ("30", "30 days"), ("all", "all that is kept")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days = {"7": 7, "30": 30, "all": 0}.get(self.value() or "", 1)
        return queryset.filter(at__gte=timezone.now() - timedelta(days=days)) if days else queryset


class UserFilter(_Narrows, TextFilter):  # type: ignore[misc]
    title, parameter_name = "user", "user"


class VerbFilter(_Narrows, TextFilter):  # type: ignore[misc]
    title, parameter_name = "verb", "verb"


class CodeFilter(_Narrows, TextFilter):  # type: ignore[misc]
    title, parameter_name = "answer", "code"


class FinalizersFilter(_Narrows, DropdownFilter):  # type: ignore[misc]
    title, parameter_name = "finalizers", "finalizers"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("yes", "has finalizers"), ("no", "has none")]


class DeletingFilter(_Narrows, DropdownFilter):  # type: ignore[misc]
    title, parameter_name = "deletion", "deleting"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("yes", "being deleted"), ("no", "not being deleted")]
