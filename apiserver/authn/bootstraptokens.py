"""Bootstrap tokens: kept in Secrets of type bootstrap.kubernetes.io/token of namespace kube-system,
for nodes that have no credential yet.

Source: kubernetes ``plugin/pkg/auth/authenticator/token/bootstrap``, k8s.io/cluster-bootstrap.
"""

from __future__ import annotations

import base64
import hmac
import re
from datetime import UTC, datetime

from apiserver.golang.time import TimeError
from apiserver.meta.objects import Object
from apiserver.meta.times import parse_time
from apiserver.user import User, authenticated

TYPE = "bootstrap.kubernetes.io/token"
NAMESPACE = "kube-system"
GROUP = "system:bootstrappers"
_USER = "system:bootstrap:"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})", re.ASCII)
_EXTRA_GROUP = re.compile(rf"{GROUP}:[a-z0-9:-]{{0,255}}[a-z0-9]", re.ASCII)


def secret_name(token: str) -> str:
    """Of the Secret that would have the token; "" for what has not the form of one."""
    match = _TOKEN.fullmatch(token)
    return f"bootstrap-token-{match[1]}" if match else ""


def user(token: str, secret: Object, now: datetime) -> User | None:
    """``secret``: of the name that `secret_name` says. None where it does not make the token good;
    why stays between the secret and who may read it."""
    match = _TOKEN.fullmatch(token)
    if match is None or secret["metadata"].get("deletionTimestamp") or secret.get("type") != TYPE:
        return None
    data = secret.get("data") or {}
    held, groups = _value(data, "token-secret"), _groups(data)
    if not hmac.compare_digest(held, match[2].encode()) or groups is None:
        return None
    if _value(data, "token-id") != match[1].encode() or _expired(data, now):
        return None
    if _value(data, "usage-bootstrap-authentication") != b"true":
        return None
    name = _USER + match[1]
    return User(name, groups=authenticated(groups, name))


def _value(data: Object, name: str) -> bytes:
    return base64.b64decode(data.get(name) or "")


def _expired(data: Object, now: datetime) -> bool:
    """An end that cannot be read has come."""
    text = _value(data, "expiration")
    if not text:
        return False
    try:
        return parse_time(text.decode()) <= now.astimezone(UTC)
    except (TimeError, UnicodeDecodeError):
        return True


def _groups(data: Object) -> tuple[str, ...] | None:
    """In order; None where one is none that such a token may give."""
    text = _value(data, "auth-extra-groups").decode("utf-8", "replace")
    extra = text.split(",") if text else []
    if not all(_EXTRA_GROUP.fullmatch(group) for group in extra):
        return None
    return tuple(sorted({GROUP, *extra}))
