"""The tokens of an account that is disabled or deleted end with it, those with a group that it
loses, and those with a name that it had: else whoever made himself one in time would keep what was
taken from him, or have what a later account of that name is given.

Tokens are an account's by its uid; those that an operator makes for a name alone are not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.db.models.signals import (
    m2m_changed,
    post_delete,
    post_save,
    pre_delete,
    pre_save,
)
from django.dispatch import receiver
from django.utils import timezone

from apiserver.storage.visibility import django_everywhere
from apiserver.user import MASTERS
from controlplane import accounts
from controlplane.tenancy.models import ApiToken


@receiver(post_save, sender=User)
def account_saved(instance: User, created: bool, **_: Any) -> None:
    if created:
        return
    own = _tokens(instance)
    if not instance.is_active:
        _end(own)
    elif not instance.is_superuser:
        _end(own.filter(groups__contains=[MASTERS]))


@receiver(pre_save, sender=User)
def account_renamed(instance: User, update_fields: Collection[str] | None, **_: Any) -> None:
    if update_fields is not None and "username" not in update_fields:
        return
    before = User.objects.filter(pk=instance.pk).exclude(username=instance.username).first()
    if before is not None:
        _end(_tokens(before).filter(user=before.username))


@receiver(post_delete, sender=User)
def account_deleted(instance: User, **_: Any) -> None:
    _end(_tokens(instance))


@receiver(m2m_changed, sender=User.groups.through)
def groups_changed(instance: Any, action: str, pk_set: set[int] | None, **_: Any) -> None:
    """``pre_clear`` and ``pre_remove``: which groups go, or who leaves a group."""
    if action not in {"pre_clear", "pre_remove"}:
        return
    if isinstance(instance, User):
        gone = instance.groups.all() if pk_set is None else Group.objects.filter(pk__in=pk_set)
        _lose([instance], list(gone.values_list("name", flat=True)))
    else:
        members = instance.user_set.all() if pk_set is None else User.objects.filter(pk__in=pk_set)
        _lose(members, [instance.name])


@receiver(pre_delete, sender=Group)
def group_deleted(instance: Group, **_: Any) -> None:
    _lose(instance.user_set.all(), [instance.name])


@receiver(pre_save, sender=Group)
def group_renamed(instance: Group, **_: Any) -> None:
    before = Group.objects.filter(pk=instance.pk).exclude(name=instance.name).first()
    if before is not None:
        _lose(before.user_set.all(), [before.name])


def _lose(members: Iterable[User], groups: list[str]) -> None:
    for account in members:
        _end(_tokens(account).filter(groups__overlap=groups))


def _tokens(account: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(uid=accounts.api_uid(account), revoked_at=None)


def _end(tokens: QuerySet[ApiToken]) -> None:
    with django_everywhere():
        tokens.update(revoked_at=timezone.now())
