"""Acting as somebody else: from the Impersonate-* headers to what must be allowed and to the user that the request goes on as.

Source: k8s.io/apiserver ``endpoints/filters/impersonation``. Pure: the caller asks its authorizer for each check, in order, and answers the
first refusal with that check's 403.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from apiserver.errors import BadRequest
from apiserver.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, service_account_groups, split_service_account

USER, GROUP, UID, EXTRA = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"

_AUTHENTICATION = "authentication.k8s.io"


class Check(NamedTuple):
    """The verb ``impersonate`` on this must be allowed to the real user."""

    group: str
    version: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Impersonation(NamedTuple):
    """checks: in the order in which they are to be asked; user: who the request acts as once they are all allowed."""

    checks: tuple[Check, ...]
    user: User


def read_headers(headers: Iterable[tuple[str, str]]) -> Impersonation | None:
    """From (name, value) pairs, names in any case; None when nobody is impersonated. Raises BadRequest for a group, uid or extra
    without a user."""
    user, uid, groups, extra = "", "", [], dict[str, list[str]]()
    for name, value in headers:
        key = name.lower()
        if key == USER:
            user = user or value
        elif key == UID:
            uid = uid or value
        elif key == GROUP:
            groups.append(value)
        elif key.startswith(EXTRA):
            extra.setdefault(unquote(key[len(EXTRA) :]), []).append(value)
    if not user:
        if groups or uid or extra:
            raise BadRequest(f"requested {_go_references(groups, extra, uid)} without impersonating a user")
        return None
    return Impersonation(_checks(user, uid, groups, extra), _acting_user(user, uid, groups, extra))


def _checks(user: str, uid: str, groups: list[str], extra: dict[str, list[str]]) -> tuple[Check, ...]:
    account = split_service_account(user)
    if account:
        checks = [Check("", "v1", "serviceaccounts", namespace=account[0], name=account[1])]
    else:
        checks = [Check("", "v1", "users", name=user)]
    checks += [Check("", "v1", "groups", name=group) for group in groups]
    checks += [Check(_AUTHENTICATION, "v1", "userextras", key, name=value) for key, values in extra.items() for value in values]
    if uid:
        checks.append(Check(_AUTHENTICATION, "v1", "uids", name=uid))
    return tuple(checks)


def _acting_user(name: str, uid: str, groups: list[str], extra: dict[str, list[str]]) -> User:
    account = split_service_account(name)
    acting = list(service_account_groups(account[0])) if account and not groups else list(groups)
    if name == ANONYMOUS:
        if UNAUTHENTICATED not in acting:
            acting.append(UNAUTHENTICATED)
    elif AUTHENTICATED not in acting and UNAUTHENTICATED not in acting:
        acting.append(AUTHENTICATED)
    return User(name, uid, tuple(acting), {key: tuple(values) for key, values in extra.items()})


def _go_references(groups: list[str], extra: dict[str, list[str]], uid: str) -> str:
    """Go's %v of the ObjectReferences that upstream makes of the headers (kind namespace name uid apiVersion resourceVersion fieldPath)."""
    version = f"{_AUTHENTICATION}/v1"
    references = [("Group", "", group, "", "", "", "") for group in groups]
    references += [("UserExtra", "", value, "", version, "", key) for key, values in extra.items() for value in values]
    if uid:
        references.append(("UID", "", uid, "", version, "", ""))
    return "[" + " ".join("{" + " ".join(reference) + "}" for reference in references) + "]"
