"""What is counted of who comes and what they may do, by upstream's names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from apiserver.audit import counts as audit
from apiserver.authn import counts as authn
from apiserver.authn.configuration import Anonymous
from apiserver.authorizers import counts as authorizers
from apiserver.authorizers.links import AlwaysDeny, Named, Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.endpoints import metrics
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import Api, serving
from tests.support.users import as_user, authorizing

MAPS = "/api/v1/namespaces/ns/configmaps"
KEPT: Mapping[str, dict[tuple[str, ...], float]] = {
    "attempts": authn.ATTEMPTS,
    "users": authn.USERS,
    "results": authorizers.ATTEMPTS,
    "decisions": authorizers.DECISIONS,
    "levels": audit.LEVELS,
}


class Link(Stateless):
    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        return self.decision

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return UserRules([], [])


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        authorizing(served)
        known: Any = served.server.directory
        token = known.token

        async def of(secret: str, number: int) -> User | None:
            return None if secret == "nobody" else await token(secret, number)

        known.token = of
        yield served


async def counted(api: Api, *links: Link | AlwaysDeny, **headers: str) -> dict[str, list[str]]:
    """What one request has added to, by label values."""
    if links:
        named = [Named(f"l{i}", "Webhook", link) for i, link in enumerate(links)]
        api.registry.authority.use(named)
    before = {name: dict(values) for name, values in KEPT.items()}
    await api("GET", MAPS, **headers)
    return {
        name: [",".join(k) for k, v in values.items() if v > before[name].get(k, 0)]
        for name, values in KEPT.items()
    }


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        ("admin", "admin"),
        ("ann@example.com", "email_id"),
        ("ann", "other"),
        ("system:serviceaccount:kube-system:default", "system:serviceaccount:kube-system:default"),
        ("system:serviceaccount:ns:default", "other"),
    ],
)
async def test_users_are_counted_without_their_names(api: Api, user: str, kind: str) -> None:
    found = await counted(api, Link(Decision(True)), **as_user(user))
    assert (found["attempts"], found["users"]) == (["success"], [kind])


async def test_who_shows_nothing_or_what_is_not_good(api: Api) -> None:
    found = await counted(api, Link(Decision(True)))
    assert (found["attempts"], found["users"]) == (["success"], ["other"])
    found = await counted(api, **as_user("nobody"))
    assert (found["attempts"], found["users"]) == (["error"], [])
    assert found["results"] == [] and found["levels"] == ["None"]
    api.server.external.anonymous = Anonymous(enabled=False)
    assert (await counted(api))["attempts"] == ["failure"]


@pytest.mark.parametrize(
    ("links", "result", "decisions"),
    [
        ([Decision(True)], "allowed", ["Webhook,l0,allowed"]),
        ([Decision(False), Decision(True)], "allowed", ["Webhook,l1,allowed"]),
        ([Decision(False, denied=True), Decision(True)], "denied", ["Webhook,l0,denied"]),
        ([Decision(False)], "no-opinion", []),
        ([Decision(False, error="e")], "error", []),
    ],
)
async def test_decisions_are_counted_by_who_makes_them(
    api: Api, links: list[Decision], result: str, decisions: list[str]
) -> None:
    found = await counted(api, *map(Link, links), **as_user("ann"))
    assert (found["results"], found["decisions"]) == ([result], decisions)


async def test_they_are_shown_by_upstreams_names(api: Api) -> None:
    await counted(api, Link(Decision(True)), **as_user("admin"))
    text = b"".join(metrics.ALL.registry.expose()).decode()
    for line in (
        'authenticated_user_requests{username="admin"} ',
        'authentication_duration_seconds_bucket{result="success",le="0.001"} ',
        'authorization_attempts_total{result="allowed"} ',
        'authorization_duration_seconds_count{result="allowed"} ',
        'apiserver_authorization_decisions_total{type="Webhook",name="l0",decision="allowed"} ',
        'apiserver_audit_level_total{level="None"} ',
        'apiserver_client_certificate_expiration_seconds_bucket{le="1800"} ',
        "serviceaccount_legacy_tokens_total ",
        "serviceaccount_legacy_manual_token_uses_total ",
        "serviceaccount_legacy_auto_token_uses_total ",
        "serviceaccount_invalid_legacy_auto_token_uses_total ",
        'pod_security_evaluations_total{decision="allow",policy_level="privileged",'
        'policy_version="latest",mode="enforce",request_operation="create",resource="pod",'
        'subresource=""} ',
        'pod_security_exemptions_total{request_operation="update",resource="controller",'
        'subresource=""} ',
    ):
        assert f"\n{line}" in text, line
