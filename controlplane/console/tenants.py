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
from controlplane.console.readonly import AllowedLookups, BoundedList, ReadOnlyAdmin
from controlplane.tenancy.models import ApiToken, Tenant

admin.site.unregister(Group)
admin.site.unregister(User)


USED = ("object_count", "bytes_stored", "log_bytes", "hour_bytes")


class _WithHeads(BoundedList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        heads = TenantHead.objects.in_bulk([t.pk for t in self.result_list])
        for tenant in self.result_list:
            tenant.head = heads.get(tenant.pk)


@admin.register(Tenant)
class TenantAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "display_name",
        "state",
        "object_count",
        "bytes_stored",
        "version",
        "created_at",
    )
    list_filter = ("state",)
    lookups = frozenset({"state__exact"})
    search_fields = ("name", "display_name")
    fields = (
        "name",
        "display_name",
        "state",
        "created_at",
        *Tenant.QUOTAS,
        "retention_seconds",
        *USED,
    )
    readonly_fields = USED

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _WithHeads

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        tenant = super().get_object(request, object_id, from_field)
        if tenant is not None:
            tenant.head = TenantHead.objects.filter(pk=tenant.pk).first()
        return tenant

    @admin.display(description="bytes of retained events")
    def log_bytes(self, tenant: Any) -> int:
        return tenant.head.log_bytes if tenant.head else 0

    @admin.display(description="bytes written this hour")
    def hour_bytes(self, tenant: Any) -> int:
        return tenant.head.written_this_hour if tenant.head else 0

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

    list_display = (
        "id",
        "user",
        "group_names",
        "tenant",
        "description",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used",
    )
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "tenant")
    lookups = frozenset({"revoked_at__isempty", "tenant__id__exact", "tenant__isnull"})
    list_select_related = ("tenant",)
    search_fields = ("user", "description")
    fields = (
        "user",
        "uid",
        "groups",
        "tenant",
        "description",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used",
    )

    @admin.display(description="groups")
    def group_names(self, token: ApiToken) -> str:
        return ", ".join(token.groups)


@admin.register(User)
# unfold has no types; generic in stubs only
class UserAdmin(AllowedLookups, DjangoUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    """Accounts of the console; the API knows nothing of them."""

    lookups = frozenset(
        {
            "is_staff__exact",
            "is_superuser__exact",
            "is_active__exact",
            "groups__id__exact",
            "groups__isnull",
        }
    )
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    filter_horizontal = ()  # Django's two lists side by side name what has no role for readers

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Whoever is added here may log in: there is nothing else that an account is for, and
        without a role it sees nothing."""
        obj.is_staff = obj.is_staff or not change
        super().save_model(request, obj, form, change)
