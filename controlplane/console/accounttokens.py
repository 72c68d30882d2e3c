"""The tokens of an account that is disabled or deleted end with it, and those with a group that it
loses: else whoever made himself one in time would keep what was taken from him.

Tokens are an account's by its uid; those that an operator makes for a name alone are not.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.db.models.signals import m2m_changed, post_delete, post_save
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


@receiver(post_delete, sender=User)
def account_deleted(instance: User, **_: Any) -> None:
    _end(_tokens(instance))


@receiver(m2m_changed, sender=User.groups.through)
def groups_changed(instance: Any, action: str, pk_set: set[int] | None, **_: Any) -> None:
    """``pre_clear`` and ``pre_remove``: which groups go."""
    if action not in {"pre_clear", "pre_remove"} or not isinstance(instance, User):
        return
    gone = instance.groups.all() if pk_set is None else Group.objects.filter(pk__in=pk_set)
    _end(_tokens(instance).filter(groups__overlap=list(gone.values_list("name", flat=True))))


def _tokens(account: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(uid=accounts.api_uid(account), revoked_at=None)


def _end(tokens: QuerySet[ApiToken]) -> None:
    with django_everywhere():
        tokens.update(revoked_at=timezone.now())
