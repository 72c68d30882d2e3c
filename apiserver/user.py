"""Who a request acts as (k8s.io/apiserver ``authentication/user``): a value that authentication
makes and everything later reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"
NODES = "system:nodes"
NODE_NAME = "authentication.kubernetes.io/node-name"
"""The extra of a service account whose token is bound to a node."""
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""The extra of whoever has proven who he is by a credential that has an id."""

_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """name as in "alice" or "system:serviceaccount:ns:name"; extra: lower-case keys to values in
    order; everywhere: an operator of the installation, whose token is good in all tenants. No API
    object shows that, and an impersonated user never has it. platform: roles in the installation
    (`apiserver.platformroles`), of which the same is true."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    everywhere: bool = False
    platform: frozenset[str] = frozenset()


def authenticated(groups: Iterable[str], name: str) -> tuple[str, ...]:
    """The groups of somebody who has proven to be called so: system:authenticated, once, beside
    ``groups``, unless who proved it said that it is nobody (k8s.io/apiserver
    ``authentication/group``)."""
    own = tuple(groups)
    if name == ANONYMOUS or AUTHENTICATED in own or UNAUTHENTICATED in own:
        return own
    return *own, AUTHENTICATED


def subjects(user: User) -> list[str]:
    """The user and the groups, as Kind:name (`apiserver.storage.models.BoundSubject`). No service
    account: its name is its tenant's."""
    return [f"User:{user.name}", *(f"Group:{group}" for group in dict.fromkeys(user.groups))]


def service_account_name(namespace: str, name: str) -> str:
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def split_service_account(user_name: str) -> tuple[str, str] | None:
    """(namespace, name) of a service account's user name; None for any other user."""
    if not user_name.startswith(_SERVICE_ACCOUNT):
        return None
    parts = user_name[len(_SERVICE_ACCOUNT) :].split(":")
    if len(parts) != 2 or not all(parts):
        return None
    return parts[0], parts[1]
