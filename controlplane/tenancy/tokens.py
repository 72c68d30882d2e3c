"""Bearer tokens: 256 random bits, of which the database keeps the SHA-256 only. Such a secret
cannot be guessed from its hash, so a slow password hash would cost every request and protect
nothing."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from apiserver.storage.visibility import django_everywhere
from apiserver.user import User, subjects
from controlplane.errors import OperatorError
from controlplane.tenancy import owntenants
from controlplane.tenancy.models import ApiToken, Tenant

PREFIX = "pp_"  # lets secret scanners recognise a leaked token
DEFAULT_LIFETIME = timedelta(days=90)


class NewToken(NamedTuple):
    """secret: known only here and now."""

    token: ApiToken
    secret: str


def token_hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def create_token(
    user: str,
    *,
    tenant: Tenant | None,
    lifetime: timedelta | None = DEFAULT_LIFETIME,
    uid: str = "",
    groups: Iterable[str] = (),
    description: str = "",
) -> NewToken:
    """A token that stands for the user, in one tenant or (None) in all, for ``lifetime`` or (None)
    for ever."""
    secret = PREFIX + secrets.token_urlsafe(32)
    with django_everywhere():
        token = ApiToken.objects.create(
            hash=token_hash(secret),
            user=user,
            uid=uid,
            groups=list(groups),
            tenant=tenant,
            description=description,
            expires_at=None if lifetime is None else timezone.now() + lifetime,
        )
    return NewToken(token, secret)


def describe(token: ApiToken) -> str:
    """Whom the token stands for, where and until when: what somebody who has just made it should
    know."""
    where = f'tenant "{token.tenant.name}" only' if token.tenant else "EVERY tenant"
    until = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "for ever"
    return (
        f"token {token.pk} of user {token.user}: valid in {where}, {until}; end it with: "
        f"manage.py token revoke {token.pk}"
    )


def list_tokens(tenant: Tenant | None = None) -> list[ApiToken]:
    """All tokens, or those of one tenant."""
    tokens = ApiToken.objects.select_related("tenant")
    with django_everywhere():
        return list(tokens.filter(tenant=tenant) if tenant else tokens)


def is_known(secret: str) -> bool:
    """Whether there is such a token, and nobody has revoked it."""
    with django_everywhere():
        return ApiToken.objects.filter(hash=token_hash(secret), revoked_at=None).exists()


def tenants_of(token_id: int) -> list[tuple[str, str, list[str]]]:
    """(name, state, through what: owner, binding) of the tenants that the token's user, or a group
    of theirs, owns or is bound in, where the token is good. Raises OperatorError when there is no
    such token."""
    token = _get(token_id)
    named = subjects(User(token.user, groups=tuple(token.groups)))
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute(*owntenants.statement(named, token.tenant_id or 0))
        return [(name, state, through) for name, _, state, through, _ in cursor.fetchall()]


def _get(token_id: int) -> ApiToken:
    with django_everywhere():
        try:
            return ApiToken.objects.get(pk=token_id)
        except ApiToken.DoesNotExist:
            raise OperatorError(
                f"There is no token {token_id}.", "`manage.py token list` shows all."
            ) from None


def revoke_token(token_id: int) -> ApiToken:
    """The token stops working within two seconds. Raises OperatorError when there is none."""
    with django_everywhere():
        token = _get(token_id)
        if token.revoked_at is None:
            token.revoked_at = timezone.now()
            token.save(update_fields=["revoked_at"])
        return token
