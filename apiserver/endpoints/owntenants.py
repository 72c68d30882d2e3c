"""As whom the one who asks is known in other tenants: what SelfTenantReview is about.

A name says who somebody is only where the credential behind it is good. docs/tenancy.md ("Which
tenants are mine?") has the whole table; in short: who is known to the installation is the same
person in every tenant, who is known to tenant default alone is nobody elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apiserver.authn import jose
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import OwnRows, Server
from apiserver.errors import Invalid
from apiserver.fielderrors import invalid
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object
from apiserver.request import TENANCY_GROUP
from apiserver.tenantnames import is_name
from apiserver.user import MASTERS, split_service_account, subjects

_KIND = GroupKind(TENANCY_GROUP, "SelfTenantReview")


class Person(NamedTuple):
    """subjects: the user, and the groups, as Kind:name; only: the number of the one tenant that the
    credential is good in, 0 for all; issuer: of the token, where one has been issued: tenants that
    know this issuer themselves decide by themselves whose it is, "" for none."""

    subjects: Sequence[str]
    only: int = 0
    issuer: str = ""


def told(rows: OwnRows) -> Object:
    """The answer of a SelfTenantReview (its status)."""
    tenants = [
        {
            "name": name,
            "displayName": display_name,
            "path": f"/clusters/{name}",
            "suspended": state == "suspended",
            "through": list(through),
        }
        for name, display_name, state, through, _ in rows
    ]
    count = rows[0][-1] if rows else 0
    return {"tenants": tenants, "count": count, "truncated": count > len(tenants)}


def after_of(review: Object) -> str:
    """Behind which name of a tenant the answer begins, "" for all. Raises Invalid."""
    spec = review.get("spec") or {}
    if not isinstance(spec, dict):
        raise Invalid(_KIND, "", [invalid("spec", spec, "must be an object")])
    after = spec.get("after") or ""
    if after != "" and not (isinstance(after, str) and is_name(after)):
        raise Invalid(_KIND, "", [invalid("spec.after", after, "must be a tenant's name")])
    return after


async def person_of(server: Server, request: ApiRequest) -> Person:
    """Who asks by the request, which has been authorized."""
    user, number = request.user, request.tenant.id
    named = subjects(user)
    if not await _is_known_to_all(server, request):
        if account := split_service_account(user.name):
            named.append(f"ServiceAccount:{account[0]}:{account[1]}")
        return Person(named, number)
    issuer = ""
    if request.sender is user and request.secret:
        token = jose.parse(request.secret)
        claimed = token.claims.get("iss") if token is not None else ""
        issuer = claimed if isinstance(claimed, str) else ""
    return Person(named, issuer=issuer)


async def _is_known_to_all(server: Server, request: ApiRequest) -> bool:
    """Whoever impersonates is told of others only what he may do himself: operators of the
    installation may act as anybody in each tenant, others in this one at most."""
    sender = request.sender
    if sender is None:
        return False
    if sender is not request.user:
        return sender.everywhere and MASTERS in sender.groups
    if sender.everywhere or not request.secret:
        return sender.everywhere
    # an operator has said who that is, and only where the token is good
    return await server.directory.token(request.secret, request.tenant.id) == sender
