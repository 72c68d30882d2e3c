from __future__ import annotations

from typing import Any

import orjson
import pytest

from admission.config import ConfigError, Section
from admission.plugins.tolerations import (
    DEFAULTS,
    WHITELIST,
    Configuration,
    PodTolerationRestriction,
    merge,
    within,
)
from admission.rules import NAMESPACES
from apiserver.meta.objects import Object
from tests.support.plugins import World, asked, refusal, run

A: Object = {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}
B: Object = {"key": "b", "operator": "Exists"}
PRESSURE = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}


def pod(*tolerations: Object, **container: Any) -> Object:
    spec: Object = {"containers": [{"name": "c", "image": "i", **container}]}
    if tolerations:
        spec["tolerations"] = [dict(t) for t in tolerations]
    return {"metadata": {"name": "p"}, "spec": spec}


def world(**annotations: Any) -> World:
    names = {"defaults": DEFAULTS, "whitelist": WHITELIST}
    texts = {
        names[k]: v if isinstance(v, str) else orjson.dumps(v).decode()
        for k, v in annotations.items()
    }
    return World().put(NAMESPACES, {"metadata": {"name": "ns", "annotations": texts}})


@pytest.mark.parametrize(
    ("around", "config", "given", "expected"),
    [
        (world(), Configuration(), [A], [A]),
        (world(), Configuration(), [], None),
        (world(defaults=[A]), Configuration(), [B], [A, B]),
        (world(defaults=[A]), Configuration(default=(B,)), [], [A]),
        (world(defaults=""), Configuration(default=(B,)), [], None),
        (world(defaults="null"), Configuration(default=(B,)), [], None),
        (world(), Configuration(default=(B,)), [A], [B, A]),
        (world(defaults=[A]), Configuration(), [A], [A]),
        (world(whitelist=[A, B]), Configuration(whitelist=({"key": "x"},)), [A], [A]),
        (world(whitelist=""), Configuration(whitelist=({"key": "x"},)), [A], [A]),
    ],
)
async def test_tolerations_of_new_pods(
    around: World, config: Configuration, given: list[Object], expected: list[Object] | None
) -> None:
    made = await run(PodTolerationRestriction(config), asked(pod(*given)), around)
    assert made is not None
    assert made["spec"].get("tolerations") == expected


@pytest.mark.parametrize(
    ("around", "config", "given", "whose"),
    [
        (world(whitelist=[B]), Configuration(), [A], "namespace"),
        (world(), Configuration(whitelist=(B,)), [A], "cluster"),
        (world(defaults=[A], whitelist=[B]), Configuration(), [], "namespace"),
    ],
)
async def test_what_the_whitelist_lacks_is_refused(
    around: World, config: Configuration, given: list[Object], whose: str
) -> None:
    error = await refusal(PodTolerationRestriction(config), asked(pod(*given)), around)
    assert error.message == (
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its "
        f"{whose} whitelist"
    )


async def test_defaults_are_for_new_pods() -> None:
    made = await run(PodTolerationRestriction(), asked(pod(), pod()), world(defaults=[A]))
    assert made == pod()


async def test_pods_that_ask_for_memory_tolerate_its_pressure() -> None:
    resources = {"requests": {"memory": "1Mi"}}
    made = await run(PodTolerationRestriction(), asked(pod(A, resources=resources)), world())
    assert made is not None
    assert made["spec"]["tolerations"] == [PRESSURE, A]


@pytest.mark.parametrize("text", ["{", "[1]", '{"key": "a"}', '[{"tolerationSeconds": "x"}]'])
async def test_annotations_that_cannot_be_read_are_refused(text: str) -> None:
    error = await refusal(PodTolerationRestriction(), asked(pod()), world(defaults=text))
    assert error.code == 500
    assert DEFAULTS in error.message


@pytest.mark.parametrize(
    ("wide", "narrow", "covers"),
    [
        (A, A, True),
        ({"key": "a", "operator": "Exists"}, A, True),
        (A, {"key": "a", "operator": "Exists"}, False),
        ({"operator": "Exists"}, A, True),
        ({"key": "b", "operator": "Exists"}, A, False),
        ({**A, "value": "2"}, A, False),
        ({"key": "a", "value": "1"}, A, True),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, A, False),
        (
            {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            {"key": "a", "operator": "Exists", "effect": "NoExecute"},
            False,
        ),
        (
            {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3},
            True,
        ),
        ({"key": "a", "operator": "Gt", "value": "1"}, A, False),
    ],
)
def test_one_toleration_may_cover_another(wide: Object, narrow: Object, covers: bool) -> None:
    assert within([narrow], [wide]) is covers
    assert (merge([narrow, wide]) == [wide]) is covers


def test_the_configuration_is_read() -> None:
    document = {
        "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "default": [{**A, "tolerationSeconds": 3}],
        "whitelist": [B],
    }
    config = Configuration.read(Section(document))
    assert config == Configuration(({**A, "tolerationSeconds": 3},), (B,))
    with pytest.raises(
        ConfigError, match=r"default\[0\]\.tolerationSeconds must be a whole number"
    ):
        Configuration.read(Section({**document, "default": [{"tolerationSeconds": "3"}]}))
