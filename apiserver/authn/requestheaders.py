"""Whom the headers of an authenticating proxy name. They are read only where the client's
certificate has shown that it is such a proxy (`apiserver.authn.clientcertificates.FrontProxies`).

Source: k8s.io/apiserver ``authentication/request/headerrequest``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.golang.url import path_unescape
from apiserver.user import User, authenticated


@dataclass(frozen=True, slots=True)
class HeaderNames:
    """In lower case, in the order in which they count; extras: beginnings of the names of those
    with extra values."""

    users: tuple[str, ...] = ("x-remote-user",)
    uids: tuple[str, ...] = ("x-remote-uid",)
    groups: tuple[str, ...] = ("x-remote-group",)
    extras: tuple[str, ...] = ("x-remote-extra-",)

    def user(self, headers: Iterable[tuple[bytes, bytes]]) -> User | None:
        """None where no header names a user: then the proxy speaks for nobody."""
        values: dict[str, list[str]] = {}
        for name, value in headers:
            key = name.decode("latin-1").lower()
            values.setdefault(key, []).append(value.decode("utf-8", "replace"))
        if not (name_of := _first(values, self.users)):
            return None
        groups = tuple(g for header in self.groups for g in values.get(header, ()) if g)
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self.extras:
            for header, texts in values.items():
                if header.startswith(prefix):
                    key = _extra_key(header[len(prefix) :])
                    extra[key] = (*extra.get(key, ()), *texts)
        held = authenticated(groups, name_of)
        return User(name_of, _first(values, self.uids), held, extra, everywhere=True)


def _first(values: dict[str, list[str]], names: Iterable[str]) -> str:
    """Of each header the first value counts, as in Go's Header.Get."""
    return next((values[name][0] for name in names if values.get(name, [""])[0]), "")


def _extra_key(escaped: str) -> str:
    """What is no valid escape stands for itself."""
    try:
        return path_unescape(escaped).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except ValueError:
        return escaped
