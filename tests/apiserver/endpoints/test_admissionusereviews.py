"""AdmissionUseReview: what is counted of policies and webhooks, and who is told.

What eve may do with a configuration    what she is told of its use
------------------------------------    ---------------------------------------------------
nothing                                 nothing, and that it is hidden
list                                    how often, how long, when it failed last
list and update                         the text of the last error as well
get                                     nothing: a list would not show it
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from admission.chain import Chain
from admission.order import plugins_in_order
from admission.policy import hooks
from admission.webhooks.call import Caller
from apiserver.endpoints import metrics
from apiserver.endpoints.metric_types import Snapshot
from apiserver.endpoints.policy_counts import PolicyCounts
from apiserver.endpoints.webhook_counts import WebhookCounts
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from apiserver.registry.provision import Provision
from apiserver.registry.quota import Quotas
from apiserver.storage.postgres import PostgresStore
from tests.admission.policy.policies import Policies, check, merge
from tests.support.admissionhooks import (
    collection,
    configmap,
    configuration,
    entry,
    replying,
    said,
)
from tests.support.api import Api, serving
from tests.support.grants import give, rule
from tests.support.users import ROOT, as_user, authorizing
from tests.support.webhooks import Reply, webhook

REVIEWS = "/apis/policies.polyplane.dev/v1/admissionusereviews"
MAPS = "/api/v1/namespaces/n/configmaps"
GROUP = "admissionregistration.k8s.io"
EVE = as_user("eve")
POLICY_KINDS = ["validatingadmissionpolicies", "mutatingadmissionpolicies"]
HOOK_KINDS = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]


@pytest.fixture
async def api(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    monkeypatch.setattr(hooks, "SETTLING", 0.0)
    async with serving(store, tenant) as served:
        authorizing(served)
        caller = Caller(served.registry.webhooks, WebhookCounts())
        quotas = Quotas(store, served.registry.catalog)
        plugins = plugins_in_order(quotas, decide, caller, Provision(), policies=PolicyCounts())
        served.registry.chain = Chain(plugins)
        await served.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}, **ROOT)
        yield served


async def asked(api: Api, who: dict[str, str] = ROOT) -> Object:
    status: Object = (await api.ok("POST", REVIEWS, {}, **who))["status"]
    return status


async def create(api: Api, name: str, data: dict[str, str] | None = None) -> int:
    status, _ = await api("POST", MAPS, configmap(name, data), **ROOT)
    return status


def row(status: Object, **names: str) -> Object:
    """The one of policies or webhooks with these members, without its times."""
    rows = [*status.get("policies", ()), *status.get("webhooks", ())]
    (found,) = [one for one in rows if names.items() <= one.items()]
    return {k: v for k, v in found.items() if k not in ("meanSeconds", "lastErrorTime")}


async def test_validating_policies_by_what_came_of_them(api: Api) -> None:
    policies = Policies(api)
    small = check("!has(object.data) || size(object.data) < 2", message="too much")
    await policies.validating("small", small, actions=["Deny", "Audit"])
    await policies.validating("warns", check("object.metadata.name != 'b'"), actions=["Warn"])
    broken = check("object.absent == 'x'")
    await policies.validating("broken", broken, failurePolicy="Ignore")
    condition = {"name": "c", "expression": "object.metadata.name == 'none'"}
    await policies.validating("passes", check("false"), matchConditions=[condition])
    assert [await create(api, name) for name in ("a", "b")] == [201, 201]
    assert await create(api, "c", {"x": "1", "y": "2"}) == 422
    status = await asked(api)
    own = {"type": "validating"}
    assert row(status, policy="small") == {
        **own,
        "policy": "small",
        "binding": "small",
        "evaluations": 3,
        "refusals": 1,
    }
    assert row(status, policy="warns") == {
        **own,
        "policy": "warns",
        "binding": "warns",
        "evaluations": 3,
        "warnings": 1,
    }
    failed = row(status, policy="broken")
    assert (failed["evaluations"], failed["failures"]) == (3, 3)
    assert failed["lastError"].endswith("resulted in error: no such key: absent")
    assert all(one["meanSeconds"] > 0 for one in status["policies"])
    assert "passes" not in [one["policy"] for one in status["policies"]]


async def test_mutating_policies(api: Api) -> None:
    policies = Policies(api)
    await policies.mutating(
        "labels", merge("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
    )
    await policies.mutating("fails", merge("Object{data: object.absent}"))
    assert await create(api, "a") == 403
    status = await asked(api)
    assert row(status, policy="labels") == {
        "type": "mutating",
        "policy": "labels",
        "binding": "labels",
        "evaluations": 1,
    }
    failed = row(status, policy="fails")
    assert (failed["refusals"], failed["failures"]) == (1, 1)
    assert "no such key: absent" in failed["lastError"]


async def test_a_policy_that_cannot_be_obeyed_is_told_of(api: Api) -> None:
    kind = {"apiVersion": "none.example.com/v1", "kind": "None"}
    await Policies(api).validating("lost", check("true"), paramKind=kind)
    assert await create(api, "a") == 422
    found = row(await asked(api), policy="lost")
    assert (found["evaluations"], found["refusals"], found["failures"]) == (1, 1, 1)
    assert "failed to find resource referenced by paramKind" in found["lastError"]


async def test_webhooks(api: Api) -> None:
    async with webhook(said(allowed=False)) as hook, webhook(replying(Reply(b"", 500))) as broken:
        await hooked(api, "validating", entry(hook.config(), "no.example.com"))
        opened = entry(broken.config(), "open.example.com", failurePolicy="Ignore")
        await hooked(api, "mutating", opened)
        assert await create(api, "a") == 400
    status = await asked(api)
    assert row(status, name="no.example.com") == {
        "type": "validating",
        "name": "no.example.com",
        "evaluations": 1,
        "refusals": 1,
    }
    failing = row(status, name="open.example.com")
    assert (failing["type"], failing["failures"]) == ("mutating", 1)
    assert "failed calling webhook" in failing["lastError"]


async def hooked(api: Api, kind: str, *webhooks: Object) -> None:
    await api.ok("POST", collection(kind), configuration(kind, *webhooks), **ROOT)


@pytest.mark.parametrize(
    ("verbs", "told"),
    [([], None), (["get"], None), (["list"], "when"), (["list", "update"], "what")],
)
async def test_who_is_told(api: Api, verbs: Sequence[str], told: str | None) -> None:
    await Policies(api).validating("broken", check("object.absent == 1"), failurePolicy="Ignore")
    assert await create(api, "a") == 201
    if verbs:
        await give(api, rule(POLICY_KINDS[0], [*verbs], GROUP))
    status = await asked(api, EVE)
    hidden = [
        kind for kind in (*POLICY_KINDS, *HOOK_KINDS) if told is None or kind != POLICY_KINDS[0]
    ]
    assert status["hidden"] == hidden
    if told is None:
        assert "policies" not in status
        return
    found = status["policies"][0]
    assert found["evaluations"] == 1 and "lastErrorTime" in found
    assert ("lastError" in found) == (told == "what")


async def test_another_worker_counts_as_well(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await Policies(api).validating("small", check("true"))
    assert await create(api, "a") == 201
    own = metrics.snapshot(api.tenant.id)

    class Peers:
        async def counted(self, number: int) -> tuple[Snapshot, Sequence[Snapshot]]:
            assert number == api.tenant.id
            return own, [own]

    monkeypatch.setattr(api.server, "peers", Peers())
    assert row(await asked(api), policy="small")["evaluations"] == 2


async def test_the_installation_adds_up_and_metrics_show_it(api: Api) -> None:
    await Policies(api).validating("shown", check("false"))
    assert await create(api, "a") == 422
    status, text = await api("GET", "/metrics", **ROOT)
    assert status == 200
    labels = 'policy="shown",policy_binding="shown",error_type="no_error"'
    name = "apiserver_validating_admission_policy_check_total"
    assert f'{name}{{{labels},enforcement_action="deny"}} 1' in text.decode()


async def test_a_table_sums_up(api: Api) -> None:
    await Policies(api).validating("none", check("false"))
    assert await create(api, "a") == 422
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    table: Any = await api.ok("POST", REVIEWS, {}, **ROOT, accept=accept)
    assert table["rows"][0]["cells"] == [1, 0, 1]
