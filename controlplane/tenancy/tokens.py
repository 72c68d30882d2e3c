"""Bearer tokens: 256 random bits, of which the database keeps the SHA-256 only. Such a secret cannot be guessed from its hash, so a slow
password hash would cost every request and protect nothing."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from controlplane.errors import OperatorError
from controlplane.tenancy.models import ApiToken, Tenant

PREFIX = "pp_"  # lets secret scanners recognise a leaked token


class NewToken(NamedTuple):
    """secret: known only here and now."""

    token: ApiToken
    secret: str


def token_hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def create_token(
    user: str,
    *,
    uid: str = "",
    groups: Iterable[str] = (),
    tenant: Tenant | None = None,
    lifetime: timedelta | None = None,
    description: str = "",
) -> NewToken:
    """A token that stands for the user, in one tenant or (None) in all, for ever or for ``lifetime``."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        hash=token_hash(secret),
        user=user,
        uid=uid,
        groups=list(groups),
        tenant=tenant,
        description=description,
        expires_at=timezone.now() + lifetime if lifetime else None,
    )
    return NewToken(token, secret)


def list_tokens(tenant: Tenant | None = None) -> QuerySet[ApiToken]:
    """All tokens, or those of one tenant."""
    tokens = ApiToken.objects.select_related("tenant")
    return tokens.filter(tenant=tenant) if tenant else tokens


def revoke_token(token_id: int) -> ApiToken:
    """The token stops working within two seconds. Raises OperatorError when there is none."""
    try:
        token = ApiToken.objects.get(pk=token_id)
    except ApiToken.DoesNotExist:
        raise OperatorError(f"There is no token {token_id}.", "`manage.py token list` shows all.") from None
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
    return token
