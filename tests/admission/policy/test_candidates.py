"""What a request costs that no policy is about, and that what is kept stays true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from admission.policy import candidates, hooks
from apiserver.meta.objects import Object
from tests.admission.policy.policies import CONFIGMAPS, Policies, check, configmap, rule
from tests.support.users import ROOT

NEVER = check("false", message="never")
RED = {"matchLabels": {"team": "red"}}
HIDDEN = {"objectSelector": {"matchLabels": {"hidden": "yes"}}}


class Looks:
    """How often policies have been looked at anew."""

    count = 0

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        look = candidates._Look.at

        def counting(*arguments: Any) -> Any:
            self.count += 1
            return look(*arguments)

        monkeypatch.setattr(candidates._Look, "at", counting)


async def relabel(policies: Policies, labels: Object) -> None:
    path, merge = "/api/v1/namespaces/n", "application/merge-patch+json"
    body = {"metadata": {"labels": labels}}
    assert (await policies.api("PATCH", path, body, merge, **ROOT))[0] == 200


async def test_requests_of_one_shape_look_once(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    await policies.validating("a", NEVER, match={"namespaceSelector": {"matchLabels": {"x": "y"}}})
    await policies.validating("b", NEVER, rules=[rule("pods")])
    looks = Looks(monkeypatch)
    for name in ("one", "two", "three"):
        await policies.made(configmap(name))
    assert looks.count == 1
    await policies.api.ok("DELETE", f"{CONFIGMAPS}/one", **ROOT)
    assert looks.count == 2


async def test_labels_of_the_namespace_count_when_they_change(policies: Policies) -> None:
    await policies.validating("p", NEVER, match={"namespaceSelector": RED})
    assert await policies.denied(configmap("a")) == "never"
    await relabel(policies, {"team": "blue"})
    await policies.made(configmap("a"))
    await relabel(policies, {"team": "red"})
    assert await policies.denied(configmap("b")) == "never"


async def test_bindings_by_namespace(policies: Policies) -> None:
    await policies.validating("p", NEVER, binding={"matchResources": {"namespaceSelector": RED}})
    assert await policies.denied(configmap("a")) == "never"
    await relabel(policies, {"team": None})
    await policies.made(configmap("a"))


@pytest.mark.parametrize("binds", [False, True])
async def test_labels_of_objects_are_asked_each_time(policies: Policies, binds: bool) -> None:
    more: Object = {"binding": {"matchResources": HIDDEN}} if binds else {"match": HIDDEN}
    await policies.validating("p", NEVER, **more)
    await policies.made(configmap("a"))
    assert await policies.denied(configmap("b", labels={"hidden": "yes"})) == "never"
    await policies.made(configmap("c", labels={"hidden": "no"}))


@pytest.mark.parametrize("binds", [False, True])
async def test_names_of_objects_are_asked_each_time(policies: Policies, binds: bool) -> None:
    named = [rule(resourceNames=["secret"])]
    if binds:
        await policies.validating("p", NEVER, binding={"matchResources": {"resourceRules": named}})
    else:
        await policies.validating("p", NEVER, rules=named)
    await policies.made(configmap("plain"))
    assert await policies.denied(configmap("secret")) == "never"
    await policies.made(configmap("plain2"))


async def test_excluded_names_are_asked_each_time(policies: Policies) -> None:
    match = {"excludeResourceRules": [rule(resourceNames=["spared"])]}
    await policies.validating("p", NEVER, match=match)
    assert await policies.denied(configmap("a")) == "never"
    await policies.made(configmap("spared"))
    assert await policies.denied(configmap("b")) == "never"


async def test_a_new_policy_counts_for_shapes_that_are_known(policies: Policies) -> None:
    await policies.validating("a", NEVER, rules=[rule("pods")])
    await policies.made(configmap("a"))
    await policies.validating("b", NEVER)
    assert await policies.denied(configmap("b")) == "never"


async def test_what_is_kept_is_bounded(policies: Policies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "KEPT", 12)  # three shapes of a policy, a binding, two labels
    kept: list[hooks.HookList] = []
    of = hooks.Hooks.of

    async def seen(*arguments: Any) -> hooks.HookList:
        kept.append(await of(*arguments))
        return kept[-1]

    monkeypatch.setattr(hooks.Hooks, "of", seen)
    await policies.validating("p", NEVER, match={"namespaceSelector": {"matchLabels": {"x": "y"}}})
    for i in range(8):
        await relabel(policies, {"team": str(i)})
        await policies.made(configmap(f"c{i}"))
        assert _labels_kept(kept) <= 12
    sizes = [len(hooks.memo) for hooks in kept if hooks]
    assert 1 <= max(sizes) <= 3
    for i in range(3):
        await relabel(policies, {f"label-{at}": str(i) for at in range(20)})
        await policies.made(configmap(f"d{i}"))
        assert _labels_kept(kept) <= 12, "many labels are not kept"


def _labels_kept(kept: Iterable[hooks.HookList]) -> int:
    return max(sum(len(shape.labels or ()) for shape in hooks.memo) for hooks in kept)
