"""The OpenID provider by which people log in to the console: POLYPLANE_CONSOLE_OIDC_*
(docs/operations.md, Logging in by OpenID Connect)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn
from urllib.parse import urlsplit

from apiserver.platformroles import ROLES
from controlplane import environment
from controlplane.errors import OperatorError

PREFIX = "CONSOLE_OIDC_"
CALLBACK = "/admin/oidc/callback/"
SUPERUSER = "superuser"
"""The role that is no group: Django's superusers."""
_FIX = "correct it (docs/operations.md, Logging in by OpenID Connect)."
_PLATFORM = "polyplane:"
_MOST_CA = 64 * 1024
_PAGE = "is no https URL without query and fragment"


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """roles: what the values of the groups claim give, groups of Django or `SUPERUSER`; ca: PEM, ""
    for the system's; redirect_uri: "" for the callback at the host by which the console is seen."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid profile email"
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    roles: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    ca: str = ""
    redirect_uri: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.issuer).netloc

    @property
    def targets(self) -> frozenset[str]:
        """All roles that the provider decides about."""
        return frozenset[str]().union(*self.roles.values())


def read() -> OidcSettings | None:
    """None where no issuer is set. Raises OperatorError."""
    issuer, others = environment.text("CONSOLE_OIDC_ISSUER"), _others()
    if not issuer:
        if others:
            _refuse(others[0], "is set, and CONSOLE_OIDC_ISSUER is not")
        return None
    _check_url("ISSUER", issuer)
    client = environment.text("CONSOLE_OIDC_CLIENT_ID")
    roles = _roles(environment.words("CONSOLE_OIDC_ROLES"))
    if not client:
        _refuse("CLIENT_ID", "is not set: the provider gives it to this installation")
    if not roles:
        _refuse("ROLES", "is not set: nobody could log in")
    scopes = environment.text("CONSOLE_OIDC_SCOPES", "openid profile email").split()
    if "openid" not in scopes:
        _refuse("SCOPES", "lacks openid")
    redirect = environment.text("CONSOLE_OIDC_REDIRECT_URI")
    if redirect:
        _check_url("REDIRECT_URI", redirect)
        if urlsplit(redirect).path != CALLBACK:
            _refuse("REDIRECT_URI", f"does not lead to {CALLBACK}")
    return OidcSettings(
        issuer,
        client,
        environment.secret("POLYPLANE_CONSOLE_OIDC_CLIENT_SECRET"),
        " ".join(scopes),
        environment.text("CONSOLE_OIDC_USERNAME_CLAIM", "preferred_username"),
        environment.text("CONSOLE_OIDC_GROUPS_CLAIM", "groups"),
        roles,
        _ca(environment.text("CONSOLE_OIDC_CA_FILE")),
        redirect,
    )


def password_login(provider: OidcSettings | None) -> bool:
    """Whether accounts log in by their passwords, too. Raises OperatorError."""
    allowed = environment.flag("CONSOLE_PASSWORD_LOGIN", True)
    if not allowed and provider is None:
        raise OperatorError(
            "POLYPLANE_CONSOLE_PASSWORD_LOGIN=false: nobody could log in to the console.",
            "set POLYPLANE_CONSOLE_OIDC_ISSUER, too.",
        )
    return allowed


def _others() -> list[str]:
    names = ("CLIENT_ID", "ROLES", "REDIRECT_URI", "CA_FILE")
    return [name for name in names if environment.text(PREFIX + name)]


def _roles(words: list[str]) -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word in words:
        value, _, role = word.rpartition("=")
        if not value or not role:
            _refuse("ROLES", f"{word!r} is no value of the claim, = and a role")
        if role.startswith(_PLATFORM) and role not in ROLES:
            _refuse("ROLES", f"{role} is no platform role; there are {', '.join(sorted(ROLES))}")
        found[value] = found.get(value, frozenset()) | {role}
    return MappingProxyType(found)


def _ca(path: str) -> str:
    if not path:
        return ""
    try:
        with Path(path).open() as file:
            text = file.read(_MOST_CA + 1)
    except (OSError, UnicodeDecodeError) as e:
        _refuse("CA_FILE", f"{path} cannot be read: {getattr(e, 'strerror', '') or 'it is no PEM'}")
    if len(text) > _MOST_CA or "-----BEGIN CERTIFICATE-----" not in text:
        _refuse("CA_FILE", f"{path} holds no certificates in PEM, or more than {_MOST_CA} bytes")
    return text


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isascii() or any(c in url for c in "?#@ "):
        _refuse(name, f"{url!r} {_PAGE}")


def _refuse(name: str, why: str) -> NoReturn:
    raise OperatorError(f"POLYPLANE_{PREFIX}{name}: {why}.", _FIX)
