"""Tokens that are kept in Secrets of type kubernetes.io/service-account-token: made for an account
and its secret, without an end, and good as long as the secret has them.

Source: kubernetes ``pkg/serviceaccount/legacy.go``. Beside upstream's claims stands the tenant's
name, for clients that drop the path; it proves nothing. Pure: whoever checks brings the objects.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apiserver.authn.accountclaims import Missing, Ref, Refused, deleted
from apiserver.meta.objects import Object
from apiserver.request import DEFAULT_TENANT, TENANT_KEY
from apiserver.user import User, authenticated, service_account_groups, service_account_name

ISSUER = "kubernetes/serviceaccount"
TYPE = "kubernetes.io/service-account-token"
LAST_USED, INVALID_SINCE = (
    "kubernetes.io/legacy-token-last-used",
    "kubernetes.io/legacy-token-invalid-since",
)
"""Labels of the secret; values are days."""
WARNING = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of "
    "auto-generated secret-based tokens."
)
_NOTE = "authentication.k8s.io/legacy-token"
_PREFIX = "kubernetes.io/serviceaccount/"
_REQUIRED = {
    "sub": "sub",
    _PREFIX + "namespace": "namespace",
    _PREFIX + "secret.name": "secretName",
    _PREFIX + "service-account.name": "serviceAccountName",
    _PREFIX + "service-account.uid": "serviceAccountUID",
}


@dataclass(frozen=True, slots=True)
class LegacyClaims:
    """secret: its name; audiences: the API that has signed it; digest: of the token."""

    namespace: str
    account: Ref
    secret: str
    audiences: tuple[str, ...]
    digest: bytes

    @property
    def user(self) -> User:
        name = service_account_name(self.namespace, self.account.name)
        groups = authenticated(service_account_groups(self.namespace), name)
        return User(name, self.account.uid, groups)


def encode(namespace: str, account: Ref, secret: str, tenant: str) -> Object:
    """As the payload of a token has them. tenant: its name."""
    payload: Object = {
        "iss": ISSUER,
        "sub": service_account_name(namespace, account.name),
        _PREFIX + "namespace": namespace,
        _PREFIX + "secret.name": secret,
        _PREFIX + "service-account.name": account.name,
        _PREFIX + "service-account.uid": account.uid,
    }
    return payload if tenant == DEFAULT_TENANT else {**payload, TENANT_KEY: tenant}


def claimed_tenant(payload: Object) -> str:
    """The name of the tenant that the payload names."""
    name = payload.get(TENANT_KEY)
    return name if isinstance(name, str) else DEFAULT_TENANT


def decode(payload: Object, audience: str, digest: bytes) -> LegacyClaims:
    """Raises Refused for a payload that `encode` has not made."""
    for member, called in _REQUIRED.items():
        value = payload.get(member)
        if not isinstance(value, str) or not value:
            raise Refused(f"{called} claim is missing")
    subject, namespace, secret, name, uid = (payload[member] for member in _REQUIRED)
    if subject != service_account_name(namespace, name):
        raise Refused("sub claim is invalid")
    return LegacyClaims(namespace, Ref(name, uid), secret, (audience,), digest)


def check_objects(
    claims: LegacyClaims, account: Object | None, secret: Object | None, now: datetime
) -> None:
    """Whether the token is still what the secret holds, for an account that is still there. Raises
    Refused, Missing."""
    if secret is None:
        raise Missing("Token has been invalidated")
    if deleted(secret, now):
        raise Refused("Token has been invalidated")
    held = base64.b64decode((secret.get("data") or {}).get("token") or "")
    if hashlib.sha256(held).digest() != claims.digest:
        raise Missing("Token does not match server's copy")
    ref = claims.account
    if account is None:
        raise Missing(f'serviceaccounts "{ref.name}" not found')
    if deleted(account, now):
        raise Refused(f"ServiceAccount {claims.namespace}/{ref.name} has been deleted")
    if (uid := account["metadata"].get("uid", "")) != ref.uid:
        raise Missing(f"ServiceAccount UID ({uid}) does not match claim ({ref.uid})")


def check_mark(claims: LegacyClaims, secret: Object) -> None:
    """Raises Refused for one that has been marked, because nobody used it for long."""
    if (secret["metadata"].get("labels") or {}).get(INVALID_SINCE):
        place = claims.namespace
        raise Refused(
            f"the token in secret {place}/{claims.secret} for service account "
            f"{place}/{claims.account.name} has been marked invalid. Use tokens from the "
            "TokenRequest API or manually created secret-based tokens, or remove the "
            f"'{INVALID_SINCE}' label from the secret to temporarily allow use of this token",
            {f"{_NOTE}-invalidated": f"{claims.secret}/{place}"},
        )


def is_generated(claims: LegacyClaims, account: Object) -> bool:
    """Whether it is a token that nobody asked for."""
    return claims.secret in {ref.get("name") for ref in account.get("secrets") or ()}


def subject_note(claims: LegacyClaims) -> dict[str, str]:
    """What audit entries say of every use of such a token, also of one that is not good any
    more."""
    return {_NOTE: service_account_name(claims.namespace, claims.account.name)}


def notes(claims: LegacyClaims, *, generated: bool) -> dict[str, str]:
    """What audit entries say of its use."""
    kind = "autogenerated" if generated else "manual"
    return {**subject_note(claims), f"{_NOTE}-{kind}-secret": claims.secret}


def to_note(secret: Object, now: datetime) -> bool:
    """Whether the secret does not say yet that it was used today. Clocks differ: somebody's
    tomorrow will do."""
    noted = (secret["metadata"].get("labels") or {}).get(LAST_USED)
    return noted not in (day(now), day(now + timedelta(days=1)))


def day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
