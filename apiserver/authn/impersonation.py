"""Acting as somebody else: from the Impersonate-* headers to whom they name.

Source: k8s.io/apiserver ``endpoints/filters/impersonation``. Whether the request may act as that
user is `apiserver.authz.impersonation`'s to say.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver.errors import BadRequest
from apiserver.golang.strconv import go_quote
from apiserver.golang.url import path_unescape
from apiserver.user import User

USER, GROUP, UID, EXTRA = (
    "impersonate-user",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-",
)


def read_headers(headers: Iterable[tuple[str, str]]) -> User | None:
    """The user as (name, value) pairs name them, without any group that is not named; names in any
    case. None when nobody is impersonated. Raises BadRequest for a group, uid or extra without a
    user."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    user, uid = (values.get(header, [""])[0] for header in (USER, UID))
    groups = tuple(values.get(GROUP, ()))
    extra: dict[str, tuple[str, ...]] = {}
    for name, texts in values.items():
        if name.startswith(EXTRA):
            key = _extra_key(name[len(EXTRA) :])
            extra[key] = (*extra.get(key, ()), *texts)
    impersonated = User(user, uid, groups, extra)
    if user:
        return impersonated
    if groups or uid or extra:
        raise BadRequest(f"requested {_go_user(impersonated)} without impersonating a user name")
    return None


def _extra_key(escaped: str) -> str:
    """What is no valid escape stands for itself."""
    try:
        key = path_unescape(escaped)
    except ValueError:
        return escaped
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _go_user(user: User) -> str:
    """Go's %#v of a ``*user.DefaultInfo``."""
    groups = _go_strings(user.groups) if user.groups else "[]string(nil)"
    extra = ", ".join(
        f"{go_quote(key)}:{_go_strings(values)}" for key, values in sorted(user.extra.items())
    )
    return (
        f"&user.DefaultInfo{{Name:{go_quote(user.name)}, UID:{go_quote(user.uid)}, "
        f"Groups:{groups}, Extra:map[string][]string{f'{{{extra}}}' if extra else '(nil)'}}}"
    )


def _go_strings(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quote, values))}}}"
