"""The webhook authorizer against a server that speaks HTTPS."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from admission.config import ConfigError, Section
from admission.webhooks.kubeconfig import read as read_kubeconfig
from admission.webhooks.reviewer import Reviewer
from apiserver.authorizers.conditions import Conditions
from apiserver.authorizers.links import World
from apiserver.authorizers.webhook import Settings, Webhook
from apiserver.authz.attributes import Attributes, Decision
from apiserver.endpoints import metrics
from apiserver.meta.fields import parse_field_selector
from apiserver.meta.labels import parse_label_selector
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support import webhooks
from tests.support.webhooks import Reply, bundle, webhook

T = TypeVar("T")
EVE = User("eve", "7", ("dev",), {"scope": ("a", "b"), "tenancy.polyplane.dev/tenant": ("other",)})
READ = Attributes(EVE, "get", "apps", "v1", "deployments", "scale", "ns", "web")


class Lookup:
    async def run(self, work: Callable[[], T]) -> T:
        return work()


def world(tenant: int = 1, name: str = "acme") -> World:
    lookup: Any = Lookup()
    return World(tenant, name, lookup)


class Asked:
    """A server that answers with one status, or with what else is in ``failures``, first."""

    def __init__(self, **status: Any) -> None:
        self.status, self.failures = status, list[Reply]()

    async def __call__(self, review: Object) -> Object | Reply:
        return self.failures.pop() if self.failures else {**review, "status": self.status}


def no_file(path: str) -> bytes:
    raise ConfigError(path)


@asynccontextmanager
async def asking(
    answer: Asked, *conditions: str, name: str = "w", **settings: Any
) -> AsyncIterator[tuple[Webhook, webhooks.Webhook]]:
    async with webhook(answer) as there:
        document = {
            "clusters": [
                {
                    "name": "",
                    "cluster": {"server": there.url, "certificate-authority-data": bundle()},
                }
            ],
            "contexts": [{"name": "", "context": {}}],
            "users": [{"name": "", "user": {"token": "t"}}],
        }
        chosen = {"version": "v1", "authorized": 60.0, "unauthorized": 60.0, "denies": False}
        reviewer = Reviewer(read_kubeconfig(Section(document), no_file), 0.001, 5.0, 4)
        link = Webhook(name, Settings(**{**chosen, **settings}), Conditions(conditions), reviewer)
        yield link, there
        link.close()


async def test_what_is_asked_names_the_tenant_whatever_the_user_says() -> None:
    async with asking(Asked(allowed=True, reason="why not")) as (link, there):
        limited = READ._replace(
            verb="list",
            label_requirements=parse_label_selector("a in (x,y),b,!c,d>3").requirements,
            field_requirements=parse_field_selector("e=1,f!=2").requirements,
        )
        assert await link.authorize(world(), limited) == Decision(True, "why not", authorizer="w")
    (review,) = there.calls
    assert (review["kind"], review["apiVersion"]) == (
        "SubjectAccessReview",
        "authorization.k8s.io/v1",
    )
    labels = review["spec"]["resourceAttributes"].pop("labelSelector")["requirements"]
    assert sorted(labels, key=lambda r: str(r["key"])) == [
        {"key": "a", "operator": "In", "values": ["x", "y"]},
        {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "DoesNotExist"},
    ]
    assert review["spec"] == {
        "resourceAttributes": {
            "namespace": "ns",
            "verb": "list",
            "group": "apps",
            "version": "v1",
            "resource": "deployments",
            "subresource": "scale",
            "name": "web",
            "fieldSelector": {
                "requirements": [
                    {"key": "e", "operator": "In", "values": ["1"]},
                    {"key": "f", "operator": "NotIn", "values": ["2"]},
                ]
            },
        },
        "user": "eve",
        "groups": ["dev"],
        "extra": {"scope": ["a", "b"], "tenancy.polyplane.dev/tenant": ["acme"]},
        "uid": "7",
    }
    assert there.headers[0]["authorization"] == "Bearer t"


async def test_the_older_version_calls_groups_group() -> None:
    async with asking(Asked(allowed=True), version="v1beta1") as (link, there):
        path = Attributes(EVE, "get", path="/x", is_resource=False)
        assert (await link.authorize(world(), path)).allowed
    (review,) = there.calls
    assert review["apiVersion"] == "authorization.k8s.io/v1beta1"
    assert review["spec"]["group"] == ["dev"] and "groups" not in review["spec"]
    assert review["spec"]["nonResourceAttributes"] == {"path": "/x", "verb": "get"}


BOTH = "webhook subject access review returned both allow and deny response"


@pytest.mark.parametrize(
    ("status", "decision"),
    [
        ({"allowed": True}, Decision(True, authorizer="w")),
        ({"allowed": False, "reason": "x"}, Decision(False, "x")),
        ({}, Decision(False)),
        ({"denied": True, "reason": "x"}, Decision(False, "x", True, authorizer="w")),
        ({"allowed": True, "denied": True}, Decision(False, "", True, BOTH, authorizer="w")),
    ],
)
async def test_the_answer_is_the_decision(status: Object, decision: Decision) -> None:
    async with asking(Asked(**status)) as (link, _):
        assert await link.authorize(world(), READ) == decision


@pytest.mark.parametrize("denies", [False, True])
@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"{}", 404),
        Reply(b"no json"),
        Reply(b'{"kind":"TokenReview","status":{"allowed":true}}'),
        Reply(b'{"apiVersion":"authorization.k8s.io/v1beta1","status":{"allowed":true}}'),
        Reply(b"[]"),
        Reply(b'{"status": {"allowed": "yes"}}'),
        Reply(b'{"status": []}'),
    ],
)
async def test_what_is_no_answer_goes_by_the_failure_policy(reply: Reply, denies: bool) -> None:
    asked = Asked(allowed=True)
    async with asking(asked, denies=denies) as (link, there):
        asked.failures = [reply]
        decision = await link.authorize(world(), READ)
        assert (decision.allowed, decision.denied, bool(decision.error)) == (False, denies, True)
        assert (await link.authorize(world(), READ)).allowed  # a failure is not kept
        assert len(there.calls) == 2


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    asked = Asked(allowed=True)
    async with asking(asked) as (link, there):
        asked.failures = [Reply(b"{}", 500), Reply(b"{}", 429)]
        assert (await link.authorize(world(), READ)).allowed
        assert len(there.calls) == 3


async def test_answers_are_kept_for_their_tenant_and_connections_for_all() -> None:
    async with asking(Asked(allowed=True)) as (link, there):
        for _ in range(3):
            assert (await link.authorize(world(), READ)).allowed
        assert len(there.calls) == 1
        await link.authorize(world(2, "other"), READ)
        await link.authorize(world(), READ._replace(name="other"))
        assert (len(there.calls), there.connections) == (3, 1)
        link.forget(1)
        await link.authorize(world(), READ)
        await link.authorize(world(2, "other"), READ)
        assert len(there.calls) == 4


async def test_long_questions_and_those_without_time_to_live_are_not_kept() -> None:
    async with asking(Asked(allowed=True), unauthorized=0.0) as (link, there):
        for _ in range(2):
            await link.authorize(world(), READ._replace(name="x" * 10_000))
        assert len(there.calls) == 2
    async with asking(Asked(allowed=False), unauthorized=0.0) as (link, there):
        for _ in range(2):
            await link.authorize(world(), READ)
        assert len(there.calls) == 2


SA = "system:serviceaccounts:"


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        ("request.resourceAttributes.namespace == 'ns'", True),
        ("has(request.nonResourceAttributes)", False),
        ("request.resourceAttributes.verb in ['get'] && request.uid == '7'", True),
        (f"request.groups.exists(g, g.startsWith('{SA}'))", False),
        ("request.extra['tenancy.polyplane.dev/tenant'][0] == 'acme'", True),
        ("has(request.resourceAttributes.labelSelector)", False),
        ("request.resourceAttributes.?fieldSelector.hasValue()", False),
    ],
)
async def test_conditions_see_the_question(condition: str, asks: bool) -> None:
    async with asking(Asked(allowed=True), condition) as (link, there):
        decision = await link.authorize(world(), READ)
        assert (decision.allowed, len(there.calls)) == (asks, int(asks))


@pytest.mark.parametrize(
    ("conditions", "denies", "decision"),
    [
        (["request.extra['no'][0] == ''"], False, (False, False, True)),
        (["request.extra['no'][0] == ''"], True, (False, True, True)),
        (["request.extra['no'][0] == ''", "false"], True, (False, False, False)),
        (["true", "request.user == 'eve'"], True, (True, False, False)),
    ],
)
async def test_conditions_that_fail_go_by_the_failure_policy_unless_one_is_false(
    conditions: list[str], denies: bool, decision: tuple[bool, bool, bool]
) -> None:
    async with asking(Asked(allowed=True), *conditions, denies=denies) as (link, there):
        found = await link.authorize(world(), READ)
        assert (found.allowed, found.denied, bool(found.error)) == decision
        assert len(there.calls) == int(found.allowed)


async def test_a_condition_that_costs_too_much_is_an_error() -> None:
    dear = "[1,2,3,4,5,6,7,8,9].all(a, " * 7 + "request.user != 'x'" + ")" * 7
    async with asking(Asked(allowed=True), dear) as (link, there):
        found = await link.authorize(world(), READ)
        assert "cost limit exceeded" in found.error
        assert found.error.startswith("cel evaluation error: expression '")
        assert not there.calls


async def test_rules_cannot_be_listed() -> None:
    async with asking(Asked()) as (link, _):
        rules = await link.rules_for(world(), EVE, "ns")
        assert (rules.rules, rules.incomplete) == ([], True)
        assert rules.errors == ["webhook authorizer does not support user rule resolution"]


def shown(name: str) -> dict[str, float]:
    """Samples of the installation's metrics about a webhook."""
    lines = (line.decode() for line in metrics.ALL.registry.expose())
    found = (line.rpartition(" ") for line in lines if f'name="{name}"' in line)
    return {what: float(value) for what, _, value in found}


async def test_tries_are_counted_by_their_results() -> None:
    prefix = "apiserver_authorization_webhook_"
    answer = Asked(allowed=True)
    answer.failures = [Reply(b"{}", 500)]
    async with asking(answer, name="counted") as (link, _):
        assert (await link.authorize(world(), READ)).allowed
        assert (await link.authorize(world(), READ)).allowed  # which is remembered
        answer.failures = [Reply(b"{}", 403)]
        other = READ._replace(name="other")
        assert not (await link.authorize(world(), other)).allowed
    samples = shown("counted")
    for result, count in (("success", 1), ("error", 2)):
        place = f'{{name="counted",result="{result}"}}'
        assert samples[f"{prefix}evaluations_total{place}"] == count
        assert samples[f"{prefix}duration_seconds_count{place}"] == count
    assert samples[f'{prefix}evaluations_fail_open_total{{name="counted",result="error"}}'] == 1


async def test_a_webhook_that_denies_fails_closed() -> None:
    answer = Asked()
    answer.failures = [Reply(b"{}", 403)]
    async with asking(answer, name="closed", denies=True) as (link, _):
        assert (await link.authorize(world(), READ)).denied
    assert not [what for what in shown("closed") if "fail_open" in what]


async def test_conditions_are_counted() -> None:
    prefix, place = "apiserver_authorization_match_condition_", '{type="Webhook",name="meant"}'
    sees = "request.user == 'eve' || request.resourceAttributes.name == 'x'"
    async with asking(Asked(allowed=True), sees, name="meant") as (link, _):
        await link.authorize(world(), READ)
        bob = READ._replace(user=User("bob"))
        await link.authorize(world(), bob)
        await link.authorize(world(), bob._replace(path="/healthz", is_resource=False))
    samples = shown("meant")
    assert samples[f"{prefix}exclusions_total{place}"] == 1
    assert samples[f"{prefix}evaluation_errors_total{place}"] == 1
    assert samples[f"{prefix}evaluation_seconds_count{place}"] == 3
