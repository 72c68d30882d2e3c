"""Claims of service account tokens: made for an account and what the token is bound to, read back,
and checked against what is there now.

Source: kubernetes ``pkg/serviceaccount/claims.go``; the leeway is that of go-jose's
``jwt.Claims.Validate``. Pure: whoever checks brings the objects. Tokens last as long as was asked
for, as with kube-apiserver's ``--service-account-extend-token-expiration=false``: there is no
``warnafter``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from apiserver.golang.time import TimeError
from apiserver.meta.objects import Object
from apiserver.meta.times import parse_time
from apiserver.user import User, authenticated, service_account_groups, service_account_name

LEEWAY = timedelta(minutes=1)
_EXTRA = "authentication.kubernetes.io/"
_PRIVATE = "kubernetes.io"
BOUND = ("pod", "node", "secret")
"""What a token can be bound to, by the names of the claims; of a pod's token the node is
information only."""
_INVALIDATED = "service account token has been invalidated"


class Refused(Exception):
    """A token of ours that is not accepted. The text is for whoever reviews tokens; a request is
    told nothing but 401. doubtful: nobody could say, at present; notes: for the audit log."""

    doubtful = False

    def __init__(self, text: str = "", notes: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(text)
        self.notes = notes


class Missing(Refused):
    """What the token stands on is not there: an older state may lack what was made a moment ago."""


class Ref(NamedTuple):
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Claims:
    """times in seconds since 1970; bound: of `BOUND` those that the token has."""

    issuer: str
    audiences: tuple[str, ...]
    issued: int
    not_before: int
    expires: int
    credential: str
    namespace: str
    account: Ref
    bound: Mapping[str, Ref] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return service_account_name(self.namespace, self.account.name)

    @property
    def must_exist(self) -> Mapping[str, Ref]:
        """What the token dies with, beside its account."""
        return {
            kind: ref
            for kind, ref in self.bound.items()
            if kind != "node" or "pod" not in self.bound
        }

    @property
    def user(self) -> User:
        extra = {"credential-id": (credential_id(self.credential),)} if self.credential else {}
        if pod := self.bound.get("pod"):
            extra.update({"pod-name": (pod.name,), "pod-uid": (pod.uid,)})
        if (node := self.bound.get("node")) and node.name:
            extra["node-name"] = (node.name,)
            if node.uid:
                extra["node-uid"] = (node.uid,)
        named = {_EXTRA + name: value for name, value in extra.items()}
        groups = authenticated(service_account_groups(self.namespace), self.subject)
        return User(self.subject, self.account.uid, groups, named)


def credential_id(credential: str) -> str:
    """What a token is called where it must not be shown. credential: its ``jti``."""
    return f"JTI={credential}"


def make(
    issuer: str,
    audiences: list[str],
    account: Object,
    bound: Mapping[str, Ref],
    seconds: int,
    now: datetime,
) -> Claims:
    """Of a token that is issued ``now`` to the ServiceAccount ``account`` for ``seconds``."""
    metadata, began = account["metadata"], int(now.timestamp())
    return Claims(
        issuer=issuer,
        audiences=tuple(audiences),
        issued=began,
        not_before=began,
        expires=int((now + timedelta(seconds=seconds)).timestamp()),
        credential=str(uuid.uuid4()),
        namespace=metadata["namespace"],
        account=Ref(metadata["name"], metadata["uid"]),
        bound=bound,
    )


def encode(claims: Claims) -> Object:
    """As the payload of a token has them."""
    private: Object = {
        "namespace": claims.namespace,
        "serviceaccount": _without_empty(claims.account),
    }
    private.update({kind: _without_empty(ref) for kind, ref in claims.bound.items()})
    return {
        "aud": list(claims.audiences),
        "exp": claims.expires,
        "iat": claims.issued,
        "iss": claims.issuer,
        "jti": claims.credential,
        _PRIVATE: private,
        "nbf": claims.not_before,
        "sub": claims.subject,
    }


def decode(payload: Object) -> Claims | None:
    """None for a payload that `encode` has not made."""
    private, audiences = payload.get(_PRIVATE), payload.get("aud")
    if (
        not isinstance(private, dict)
        or not isinstance(audiences, list)
        or not all(isinstance(a, str) for a in audiences)
    ):
        return None
    times = [payload.get(name) for name in ("iat", "nbf", "exp")]
    texts = [payload.get("iss"), payload.get("jti"), private.get("namespace")]
    refs = {kind: _ref(private[kind]) for kind in ("serviceaccount", *BOUND) if kind in private}
    account = refs.pop("serviceaccount", None)
    bound = {kind: ref for kind, ref in refs.items() if ref is not None}
    if account is None or len(bound) != len(refs):
        return None
    if any(type(t) is not int for t in times) or any(not isinstance(t, str) for t in texts):
        return None
    issued, not_before, expires = (int(t) for t in times if t is not None)
    issuer, credential, namespace = (str(t) for t in texts)
    claims = Claims(
        issuer, tuple(audiences), issued, not_before, expires, credential, namespace, account, bound
    )
    return claims if claims.subject == payload.get("sub") else None


def check_times(claims: Claims, now: datetime) -> None:
    """Clocks may differ by a minute. Raises Refused."""
    moment, leeway = now.timestamp(), LEEWAY.total_seconds()
    if moment + leeway < claims.not_before:
        raise Refused("service account token is not valid yet")
    if moment - leeway > claims.expires:
        raise Refused("service account token has expired")
    if moment + leeway < claims.issued:
        raise Refused("service account token is issued in the future")


def check_objects(
    claims: Claims, account: Object | None, bound: Mapping[str, Object | None], now: datetime
) -> None:
    """``bound``: the objects of the names in ``claims.must_exist``, None for what is not there.
    Raises Refused, Missing."""
    ref = claims.account
    if account is None:
        raise Missing(f'serviceaccounts "{ref.name}" not found')
    if (uid := account["metadata"].get("uid", "")) != ref.uid:
        raise Missing(f"service account UID ({uid}) does not match claim ({ref.uid})")
    if deleted(account, now):
        raise Refused(f"service account {claims.namespace}/{ref.name} has been deleted")
    for kind, expected_uid in claims.must_exist.items():
        owner = bound.get(kind)
        if owner is None:
            raise Missing(_INVALIDATED)
        if (uid := owner["metadata"].get("uid", "")) != expected_uid.uid:
            raise Missing(
                f"{kind} UID ({uid}) does not match service account {kind} ref claim "
                f"({expected_uid.uid})"
            )
        if deleted(owner, now):
            raise Refused(_INVALIDATED)


def deleted(obj: Object, now: datetime) -> bool:
    """Whether the object should have been gone for a minute."""
    when = obj["metadata"].get("deletionTimestamp")
    if not when:
        return False
    try:
        return parse_time(when) < now.astimezone(UTC) - LEEWAY
    except TimeError:
        return True


def _ref(value: Any) -> Ref | None:
    if not isinstance(value, dict):
        return None
    name, uid = value.get("name", ""), value.get("uid", "")
    return Ref(name, uid) if isinstance(name, str) and isinstance(uid, str) else None


def _without_empty(ref: Ref) -> Object:
    return {name: value for name, value in ref._asdict().items() if value}
