"""Which versions are served: the strongest key decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver.kinds import catalog, runtimeconfig
from apiserver.kinds.runtimeconfig import RuntimeConfigError, parse, serves
from apiserver.meta.gvk import GroupResource, GroupVersionResource

KNOWN = catalog.all_versions()


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    yield
    runtimeconfig.activate({})


def served(*pairs: str) -> set[str]:
    runtimeconfig.activate(parse(pairs, KNOWN))
    return {f"{k.group}/{k.version}/{k.resource}" for k in KNOWN if serves(k)}


def test_nothing_said_serves_everything() -> None:
    assert len(served()) == len(KNOWN)


def test_versions_and_resources() -> None:
    left = served("autoscaling/v1=false", "batch/v1/cronjobs=false")
    assert "autoscaling/v2/horizontalpodautoscalers" in left and "batch/v1/jobs" in left
    assert not {"autoscaling/v1/horizontalpodautoscalers", "batch/v1/cronjobs"} & left


def test_the_stronger_key_wins_in_any_order() -> None:
    pairs = ["batch/v1/jobs=true", "batch/v1=false", "api/beta=false", "api/all=true"]
    for order in (pairs, pairs[::-1]):
        left = served(*order)
        assert "batch/v1/jobs" in left and "batch/v1/cronjobs" not in left
        assert not [name for name in left if "beta" in name] and "apps/v1/deployments" in left


def test_core_resources_have_no_group() -> None:
    assert "/v1/endpoints" not in served("v1/endpoints=false")


@pytest.mark.parametrize(
    "pair",
    [
        "nothing/v1=true",
        "apps/v9=true",
        "apps/v1/nothing=false",
        "apps/v1=maybe",
        "v1=false",
        "api/all=false",
    ],
)
def test_errors(pair: str) -> None:
    with pytest.raises(RuntimeConfigError):
        parse([pair], KNOWN)


def test_the_catalog_leaves_out_what_is_off() -> None:
    runtimeconfig.activate(parse(["autoscaling/v1=false", "batch/v1/cronjobs=false"], KNOWN))
    made = catalog.resources.__wrapped__()  # the cached one belongs to the process
    assert GroupResource("batch", "cronjobs") not in made
    autoscalers = made[GroupResource("autoscaling", "horizontalpodautoscalers")]
    assert [v for v, s in autoscalers.versions.items() if s.served] == ["v2"]
    assert GroupVersionResource("batch", "v1", "cronjobs") in KNOWN
