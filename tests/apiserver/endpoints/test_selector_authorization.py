"""What a list is limited to, told to authorizers that want to know; and authorizers that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from admission.policy.decisions import Decisions
from apiserver.authorizers.links import Named, Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.cel.library import authorizer as cel
from apiserver.meta.fields import FieldRequirement
from apiserver.meta.labels import Requirement
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import Api, serving
from tests.support.users import as_user, authorizing

MAPS = "/api/v1/namespaces/ns/configmaps"


class Webhook(Stateless):
    """Allows, unless it is told something else, and remembers."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []
        self.decision = Decision(True)

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return self.decision

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return UserRules([], ["cannot tell"], incomplete=True)


@pytest.fixture
def hook() -> Webhook:
    return Webhook()


@pytest.fixture
async def api(store: PostgresStore, tenant: int, hook: Webhook) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        authorizing(served)
        authority = served.registry.authority
        authority.use([Named("w", "Webhook", hook)])
        served.server.tells_selectors = lambda: authority.looks_at_selectors
        yield served


FIELDS = (FieldRequirement("metadata.name", "=", "x"),)
LABELS = (Requirement("app", "=", ("web",)),)


@pytest.mark.parametrize(
    ("method", "path", "fields", "labels"),
    [
        ("GET", f"{MAPS}?fieldSelector=metadata.name%3Dx", FIELDS, ()),
        ("GET", f"{MAPS}?labelSelector=app%3Dweb", (), LABELS),
        ("DELETE", f"{MAPS}?labelSelector=app%3Dweb", (), LABELS),
        ("GET", f"{MAPS}?labelSelector=app%3Dweb&labelSelector=b", (), LABELS),
        ("GET", f"{MAPS}/x?labelSelector=app%3Dweb", (), ()),
        ("GET", f"{MAPS}?labelSelector=%3D%3D%3D", (), ()),
        ("GET", MAPS, (), ()),
        ("GET", f"{MAPS}?watch=1&labelSelector=app%3Dweb&timeoutSeconds=1", (), LABELS),
        ("GET", "/api/v1/watch/pods?labelSelector=app%3Dweb&timeoutSeconds=1", (), ()),
    ],
)
async def test_what_a_request_is_limited_to_is_told(
    api: Api, hook: Webhook, method: str, path: str, fields: Any, labels: Any
) -> None:
    await api(method, path, **as_user("eve"))
    asked = hook.asked[0]
    assert (asked.field_requirements, asked.label_requirements) == (fields, labels)


async def test_rbac_alone_is_not_told(api: Api, hook: Webhook) -> None:
    api.registry.authority.use([Named("w", "Other", hook)])
    await api("GET", f"{MAPS}?labelSelector=app%3Dweb", **as_user("eve"))
    assert hook.asked[0].label_requirements == ()


async def test_reviews_tell_selectors(api: Api, hook: Webhook) -> None:
    selector = {"requirements": [{"key": "app", "operator": "In", "values": ["web"]}]}
    asked = {"verb": "list", "resource": "pods", "labelSelector": selector}
    asked["fieldSelector"] = {"rawSelector": "metadata.name=x"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    await api.ok("POST", path, {"spec": {"resourceAttributes": asked}}, **as_user("eve"))
    assert hook.asked[-1].label_requirements == (Requirement("app", "in", ("web",)),)
    assert hook.asked[-1].field_requirements == FIELDS


@pytest.mark.parametrize(
    ("fields", "labels", "told"),
    [
        ("metadata.name=x", "app=web", (FIELDS, LABELS)),
        ("", "", ((), ())),
        ("===", "!!", ((), ())),
    ],
)
async def test_expressions_tell_selectors(fields: str, labels: str, told: Any) -> None:
    asked: list[Attributes] = []

    async def authorize(lookup: Any, question: Attributes) -> Decision:
        asked.append(question)
        return Decision(False, "no", error="broken")

    class Request:
        user, subresource, name = User("eve"), "", ""
        resource = type("R", (), {"group": "", "resource": "pods"})

    class Lookup:
        async def run(self, work: Any) -> Any:
            return work()

    request: Any = Request()
    request.namespace, request.namespaced, request.object, request.old = "ns", True, None, None
    lookup: Any = Lookup()
    decisions = Decisions(authorize, request, lookup)
    check = cel.ResourceCheck(
        decisions.authorizer,
        cel.Question("", resource="pods", field_selector=fields, label_selector=labels),
    )
    decision = await decisions.run(lambda: check.check("list"))
    assert (decision.allowed, decision.reason, decision.error) == (False, "no", "broken")
    assert (asked[0].field_requirements, asked[0].label_requirements) == told


@pytest.mark.parametrize("denied", [False, True])
async def test_an_authorizer_that_fails_is_an_error_of_the_server(
    api: Api, hook: Webhook, denied: bool
) -> None:
    hook.decision = Decision(False, "", denied, "Post: EOF")
    status, answer = await api("GET", MAPS, **as_user("eve"))
    assert status == 500
    assert answer["message"] == f'Internal Server Error: "{MAPS}": Post: EOF'


async def test_reviews_tell_of_a_failure_and_of_rules_that_nobody_knows(
    api: Api, hook: Webhook
) -> None:
    asked = {"user": "x", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    masters = as_user("root")
    hook.decision = Decision(False, error="Post: EOF")
    path = "/apis/authorization.k8s.io/v1"
    review = await api.ok("POST", f"{path}/subjectaccessreviews", {"spec": asked}, **masters)
    assert review["status"] == {"allowed": False, "evaluationError": "Post: EOF"}
    spec = {"spec": {"namespace": "ns"}}
    review = await api.ok("POST", f"{path}/selfsubjectrulesreviews", spec, **masters)
    assert review["status"]["incomplete"] is True
    assert review["status"]["evaluationError"] == "cannot tell"
