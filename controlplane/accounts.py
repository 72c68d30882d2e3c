"""Accounts of the console: the platform roles that they hold, and who they are to the API."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, Group, User

from apiserver.platformroles import ROLES
from apiserver.user import MASTERS
from controlplane.errors import OperatorError


def holds(account: AbstractBaseUser | AnonymousUser, role: str) -> bool:
    """Superusers hold every role."""
    if not isinstance(account, User) or not account.is_active:
        return False
    return account.is_superuser or account.groups.filter(name=role).exists()


def roles_of(account: User) -> list[str]:
    return sorted(account.groups.filter(name__in=ROLES).values_list("name", flat=True))


def api_groups(account: User) -> list[str]:
    """The groups by which tenants' RBAC judges the account: its own, but for platform roles, which
    are none of theirs; a superuser is in system:masters."""
    own = account.groups.exclude(name__in=ROLES).order_by("name").values_list("name", flat=True)
    return [*own, *([MASTERS] if account.is_superuser else [])]


def api_uid(account: User) -> str:
    """Another than that of an account that had the name before."""
    return f"console:{account.pk}"


def get(name: str) -> User:
    """Raises OperatorError."""
    account = User.objects.filter(username=name).first()
    if account is None:
        raise OperatorError(
            f"The console has no account {name!r}.",
            'make it in the console, in the menu under "Console users".',
        )
    return account


def grant(account: User, role: str) -> None:
    """It may log in to the console, too."""
    account.groups.add(Group.objects.get_or_create(name=role)[0])
    if not account.is_staff:
        account.is_staff = True
        account.save(update_fields=["is_staff"])


def revoke(account: User, role: str) -> None:
    account.groups.remove(*Group.objects.filter(name=role))
