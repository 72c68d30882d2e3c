"""Lists of tenants and tokens, and the accounts of the console itself."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from apiserver.storage.models import TenantHead
from controlplane.console.readonly import ReadOnlyAdmin
from controlplane.tenancy.models import ApiToken, Tenant

admin.site.unregister(Group)
admin.site.unregister(User)


class _WithHeads(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        heads = TenantHead.objects.in_bulk([t.pk for t in self.result_list])
        for tenant in self.result_list:
            tenant.head = heads.get(tenant.pk)


@admin.register(Tenant)
class TenantAdmin(ReadOnlyAdmin):
    list_display = ("name", "display_name", "state", "object_count", "bytes_stored", "version", "created_at")
    list_filter = ("state",)
    search_fields = ("name", "display_name")
    fields = ("name", "display_name", "state", "created_at", "max_objects", "max_bytes", "max_watches", "max_inflight", "retention_seconds")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _WithHeads

    @admin.display(description="objects")
    def object_count(self, tenant: Any) -> int:
        return tenant.head.object_count if tenant.head else 0

    @admin.display(description="bytes")
    def bytes_stored(self, tenant: Any) -> int:
        return tenant.head.bytes if tenant.head else 0

    @admin.display(description="version")
    def version(self, tenant: Any) -> int:
        return tenant.head.head if tenant.head else 0


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Who may call the API. Secrets are not stored; their hashes are not shown."""

    list_display = ("id", "user", "group_names", "tenant", "description", "created_at", "expires_at", "revoked_at", "last_used")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "tenant")
    list_select_related = ("tenant",)
    search_fields = ("user", "description")
    fields = ("user", "uid", "groups", "tenant", "description", "created_at", "expires_at", "revoked_at", "last_used")

    @admin.display(description="groups")
    def group_names(self, token: ApiToken) -> str:
        return ", ".join(token.groups)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]  # unfold has no types; generic in stubs only
    """Accounts of the console; the API knows nothing of them."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
