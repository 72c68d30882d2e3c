"""Who a request acts as (k8s.io/apiserver ``authentication/user``): a value that authentication makes and everything later reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"

_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """name as in "alice" or "system:serviceaccount:ns:name"; extra: lower-case keys to values in order."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
