"""Who may make, see and revoke which tokens: nobody makes one that may do more than he may.

| who | makes | sees | revokes |
|---|---|---|---|
| any account of the console | his own | his own | his own |
| an owner, once bound in the tenant | others', good in it only | those good in it only | as made |
| polyplane:tenant-admins | the same in all tenants but `default` | those | as made |
| polyplane:viewers | | all | |
| a superuser | all, also such that never expire | all | all |

One's own has one's name, uid, and one's groups or some of them; it is good in one tenant or in all.
Others' have no uid, and no name or group that begins with ``system:``. As made: what he could have
made. Whoever may change a Tenant may make himself its owner, hence the tenant-admins.

An owner is cluster-admin of his tenant, who may impersonate everybody there; names and groups that
begin with ``system:`` stay with the superuser, because no RBAC of the tenant binds them. A token
that is good in one tenant holds no platform role, whatever its name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import User

from apiserver.platformroles import TENANT_ADMINS, VIEWERS
from controlplane import accounts
from controlplane.tenancy.models import ApiToken, Tenant
from controlplane.tenancy.service import DEFAULT

_SYSTEM = "system:"


@dataclass(frozen=True)
class Person:
    """An account of the console as these rules see it. groups: those of the API."""

    name: str
    uid: str
    groups: frozenset[str]
    superuser: bool
    tenant_admin: bool
    viewer: bool


def person(account: User) -> Person:
    return Person(
        account.get_username(),
        accounts.api_uid(account),
        frozenset(accounts.api_groups(account)),
        account.is_superuser,
        accounts.holds(account, TENANT_ADMINS),
        accounts.holds(account, VIEWERS),
    )


def administers(who: Person, tenant: Tenant) -> bool:
    """Whether he is, or may make himself, cluster-admin of the tenant."""
    if who.superuser:
        return True
    if who.tenant_admin and tenant.name != DEFAULT:
        return True
    return owns(who, tenant)


def may_read_secrets(who: Person, tenant: Tenant) -> bool:
    """Whether he is cluster-admin of the tenant: who could make himself that has not done so."""
    return who.superuser or owns(who, tenant)


def owns(who: Person, tenant: Tenant) -> bool:
    names = {f"User:{who.name}", *(f"Group:{group}" for group in who.groups)}
    return bool(names & set(tenant.owners) & set(tenant.bound_owners))


def why_not_make(
    who: Person, user: str, uid: str, groups: Collection[str], tenant: Tenant | None
) -> str:
    """Why he may not make such a token; "" where he may."""
    if who.superuser:
        return ""
    if (user, uid) == (who.name, who.uid):
        more = sorted(set(groups) - who.groups)
        return f"you are not in {', '.join(more)}" if more else ""
    if tenant is None:
        return "a token for somebody else is good in one tenant only"
    if not administers(who, tenant):
        return f"tokens of others in tenant {tenant.name} are for its owners to make"
    if uid:
        return "a token for somebody else has no uid"
    if system := [name for name in (user, *sorted(groups)) if name.startswith(_SYSTEM)]:
        return f"{system[0]} is not for tenants to give"
    return ""


def may_see(who: Person, token: ApiToken) -> bool:
    if who.superuser or who.viewer or is_own(who, token):
        return True
    return token.tenant is not None and administers(who, token.tenant)


def may_revoke(who: Person, token: ApiToken) -> bool:
    if is_own(who, token):
        return True
    return not why_not_make(who, token.user, token.uid, token.groups, token.tenant)


def is_own(who: Person, token: ApiToken) -> bool:
    """By uid, too: the name may have been another's before."""
    return (token.user, token.uid) == (who.name, who.uid)
