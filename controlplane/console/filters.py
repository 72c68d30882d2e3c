"""The filters beside lists of stored objects and events. Each narrows by a prefix of the table's key or by a plain column."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter, TextFilter

from apiserver.kinds import catalog
from controlplane.tenancy.models import Tenant


@cache
def known_resources() -> list[tuple[str, str]]:
    """(group, plural) of the built-in stored resources."""
    return sorted({(r.storage.group, r.storage.resource) for r in catalog.resources().values()})


class TenantFilter(DropdownFilter):  # type: ignore[misc]  # unfold has no types
    title, parameter_name = "tenant", "tenant"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [(name, name) for name in Tenant.objects.values_list("name", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        return queryset.filter(tenant_id__in=list(Tenant.objects.filter(name=self.value()).values_list("pk", flat=True)))


class GroupFilter(DropdownFilter):  # type: ignore[misc]
    title, parameter_name = "group", "group"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [(group or "core", group or "core") for group in sorted({g for g, _ in known_resources()})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(api_group="" if self.value() == "core" else self.value()) if self.value() else queryset


class ExactText(TextFilter):  # type: ignore[misc]
    """A column that equals what is typed."""

    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


class ResourceFilter(ExactText):
    title, parameter_name, column = "resource", "resource", "resource"


class NamespaceFilter(ExactText):
    title, parameter_name, column = "namespace", "namespace", "namespace"


class FinalizersFilter(DropdownFilter):  # type: ignore[misc]
    title, parameter_name = "finalizers", "finalizers"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("yes", "has finalizers"), ("no", "has none")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "yes":
            return queryset.exclude(finalizers=[])
        return queryset.filter(finalizers=[]) if self.value() == "no" else queryset


class DeletingFilter(DropdownFilter):  # type: ignore[misc]
    title, parameter_name = "deletion", "deleting"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("yes", "being deleted"), ("no", "not being deleted")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(deleting=self.value() == "yes") if self.value() else queryset
