"""Parameters: of built-in and custom kinds, by name and selector, missing ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from admission.attributes import Served
from admission.policy import dispatch
from admission.policy.hooks import Binding
from admission.policy.params import MOST_MISSING, Params
from apiserver.kinds.apiextensions import conditions
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.registry.lookup import CacheLookup
from tests.admission.policy.policies import (
    CONFIGMAPS,
    Policies,
    check,
    configmap,
    merge,
    rule,
)
from tests.support.users import ROOT
from tests.support.widgets import CRD, CRDS, crd

SECRETS = "/api/v1/namespaces/n/secrets"
CONFIGMAP = {"apiVersion": "v1", "kind": "ConfigMap"}
SECRET = {"metadata": {"name": "s"}}
NOT_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"


async def bound(policies: Policies, ref: Object | None, **more: Any) -> None:
    """A policy about secrets that denies them in the name of its parameter."""
    told = "params == null ? 'nothing' : string(params.metadata.name)"
    binding = {"paramRef": ref} if ref is not None else {}
    await policies.validating(
        "p",
        check("false", messageExpression=told),
        rules=more.pop("rules", [rule("secrets")]),
        paramKind=more.pop("kind", CONFIGMAP),
        binding=binding,
        **more,
    )


async def test_by_name_in_the_namespace_of_the_request(policies: Policies) -> None:
    await policies.made(configmap("limits"))
    await bound(policies, {"name": "limits", "parameterNotFoundAction": "Deny"})
    assert await policies.denied(SECRET, SECRETS) == "limits"


async def test_by_name_in_another_namespace(policies: Policies) -> None:
    await policies.api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}}, **ROOT)
    await policies.made(configmap("theirs"), "/api/v1/namespaces/other/configmaps")
    ref = {"name": "theirs", "namespace": "other", "parameterNotFoundAction": "Deny"}
    await bound(policies, ref)
    assert await policies.denied(SECRET, SECRETS) == "theirs"


async def test_by_selector_once_for_each(policies: Policies) -> None:
    for name, use in (("a", "no"), ("b", "yes"), ("c", "yes")):
        await policies.made(configmap(name, labels={"use": use}))
    selector = {"selector": {"matchLabels": {"use": "yes"}}, "parameterNotFoundAction": "Deny"}
    await bound(policies, selector, actions=["Warn"])
    await policies.made(SECRET, SECRETS)
    assert [w.rpartition(": ")[2] for w in policies.api.warnings] == ['b"', 'c"']


@pytest.mark.parametrize(
    ("action", "fails", "denied"),
    [("Deny", "Fail", True), ("Deny", "Ignore", False), ("Allow", "Fail", False)],
)
async def test_missing_parameters(
    policies: Policies, action: str, fails: str, denied: bool
) -> None:
    ref = {"name": "absent", "parameterNotFoundAction": action}
    await bound(policies, ref, failurePolicy=fails)
    if denied:
        message = f"failed to configure binding: {NOT_FOUND}"
        assert await policies.denied(SECRET, SECRETS) == message
    else:
        await policies.made(SECRET, SECRETS)


async def test_a_binding_without_reference_gives_null(policies: Policies) -> None:
    await bound(policies, None)
    assert await policies.denied(SECRET, SECRETS) == "nothing"


async def test_an_unknown_kind_is_the_policys_fault(policies: Policies) -> None:
    kind = {"apiVersion": "none.example/v1", "kind": "None"}
    ref = {"name": "x", "parameterNotFoundAction": "Deny"}
    await bound(policies, ref, kind=kind)
    status, answer = await policies.create(SECRET, SECRETS)
    assert status == 422
    assert answer["message"].endswith(
        "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: "
        "failed to find resource referenced by paramKind: 'none.example/v1, Kind=None'"
    )


async def test_namespaced_parameters_of_requests_outside_of_namespaces(policies: Policies) -> None:
    ref = {"name": "x", "parameterNotFoundAction": "Allow"}
    await bound(policies, ref, rules=[rule("nodes")])
    assert await policies.denied({"metadata": {"name": "node"}}, "/api/v1/nodes") == (
        "failed to configure binding: cannot use namespaced paramRef in policy binding that "
        "matches cluster-scoped resources"
    )


async def test_parameters_outside_of_namespaces_have_none(policies: Policies) -> None:
    kind = {"apiVersion": "v1", "kind": "Node"}
    ref = {"name": "x", "namespace": "n", "parameterNotFoundAction": "Allow"}
    await bound(policies, ref, kind=kind)
    assert await policies.denied(SECRET, SECRETS) == (
        "failed to configure binding: paramRef.namespace must not be provided for a "
        "cluster-scoped `paramKind`"
    )


async def defined(policies: Policies) -> None:
    """The kind Widget is served."""
    api = policies.api
    definition = await api.ok("POST", CRDS, crd(None), **ROOT)
    conditions.settle(definition, [], datetime.now(UTC))
    await api.ok("PUT", f"{CRD}/status", definition, **ROOT)
    await api.until(lambda: api.catalog.find(api.tenant, "example.com", "widgets"))


async def test_custom_parameters_and_what_becomes_of_them(policies: Policies) -> None:
    await defined(policies)
    path = "/apis/example.com/v1/namespaces/n/widgets"
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    await bound(policies, {"name": "w", "parameterNotFoundAction": "Allow"}, kind=kind)
    await policies.made(SECRET, SECRETS)
    await policies.made({**kind, "metadata": {"name": "w"}}, path)
    assert await policies.denied({"metadata": {"name": "t"}}, SECRETS) == "w"


async def test_mutations_have_them_too(policies: Policies) -> None:
    await policies.made(configmap("values", data={"v": "mine"}))
    await policies.mutating(
        "p",
        merge("Object{stringData: {'v': params.data.v}}"),
        rules=[rule("secrets")],
        paramKind=CONFIGMAP,
        binding={"paramRef": {"name": "values", "parameterNotFoundAction": "Deny"}},
    )
    made = await policies.made(SECRET, SECRETS)
    assert "v" in {**made.get("stringData", {}), **made.get("data", {})}
    await policies.api.ok("DELETE", f"{CONFIGMAPS}/values", **ROOT)
    assert (await policies.denied({"metadata": {"name": "t"}}, SECRETS)).endswith(NOT_FOUND)


# --- how many -------------------------------------------------------------------------------------
ALL_OF_THEM = {"selector": {"matchLabels": {"use": "yes"}}, "parameterNotFoundAction": "Deny"}


async def three_params(policies: Policies, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(dispatch, "MOST", most)
    for name in "abc":
        await policies.made(configmap(name, labels={"use": "yes"}))


@pytest.mark.parametrize(("fails", "denied"), [("Fail", True), ("Ignore", False)])
async def test_more_parameters_than_can_be_evaluated(
    policies: Policies, monkeypatch: pytest.MonkeyPatch, fails: str, denied: bool
) -> None:
    await three_params(policies, monkeypatch, 2)
    await bound(policies, ALL_OF_THEM, failurePolicy=fails)
    if denied:
        why = "failed to configure binding: more than 1000 evaluations of policies would be needed"
        assert (await policies.denied(SECRET, SECRETS)).startswith(why)
    else:
        await policies.made(SECRET, SECRETS)


async def test_bindings_count_with_their_parameters(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three_params(policies, monkeypatch, 4)
    selecting = {"binding": {"paramRef": ALL_OF_THEM}, "paramKind": CONFIGMAP}
    await policies.validating("p", check("true"), rules=[rule("secrets")], **selecting)
    await policies.validating("q", check("true"), rules=[rule("secrets")])
    await policies.made(SECRET, SECRETS)
    await policies.validating("r", check("true"), rules=[rule("secrets")])
    assert "more than 1000 evaluations" in await policies.denied(
        {"metadata": {"name": "t"}}, SECRETS
    )


async def test_bindings_that_select_alike_look_once(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three_params(policies, monkeypatch, 100)
    selections, select = list[int](), CacheLookup.select

    async def counted(*arguments: Any) -> Any:
        selections.append(1)
        return await select(*arguments)

    monkeypatch.setattr(CacheLookup, "select", counted)
    for name in ("p", "q"):
        selecting = {"binding": {"paramRef": ALL_OF_THEM}, "paramKind": CONFIGMAP}
        await policies.validating(name, check("true"), rules=[rule("secrets")], **selecting)
    selections.clear()
    await policies.made(SECRET, SECRETS)
    assert len(selections) == 1


async def test_the_database_is_asked_for_few_missing_parameters() -> None:
    class Nothing:
        def __init__(self) -> None:
            self.asked: list[bool] = []

        async def convert(self, obj: Object, *_: Any) -> Object:
            return obj

        async def get(
            self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
        ) -> Object | None:
            self.asked.append(fresh)
            return None

    lookup: Any = Nothing()
    params = Params("n", lookup)
    maps = GroupResource("", "configmaps")
    kind = GroupVersionKind("", "v1", "ConfigMap")
    served = Served(GroupVersionResource("", "v1", "configmaps"), kind, maps, True)
    for i in range(100):
        spec = {"paramRef": {"name": f"p{i}", "parameterNotFoundAction": "Allow"}}
        assert await params.of(served, Binding({"spec": spec}, f"b{i}", "p", None), 1) == []
    assert sum(lookup.asked) == MOST_MISSING
    assert len(lookup.asked) == 100 + MOST_MISSING
