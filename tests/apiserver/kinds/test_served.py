from __future__ import annotations

from copy import copy
from dataclasses import replace

from apiserver.kinds import catalog
from apiserver.kinds.served import Subresource, names
from apiserver.meta.gvk import GroupResource, GroupVersionKind


def test_names_are_those_of_versions_that_are_served() -> None:
    pods = catalog.resources()[GroupResource("", "pods")]
    maps = catalog.resources()[GroupResource("", "configmaps")]
    served = pods.versions["v1"]
    old = {"old": Subresource("old", GroupVersionKind("", "v0", "Old"), ("get",))}
    off = replace(served, version="v0", served=False, subresources=old)
    found = names([pods, maps])
    assert found[""][0] == "pods" and found[""][-1] == "configmaps"
    assert {"pods/log", "pods/status"} < {*found[""]}
    for versions, same in (
        ({"v0": off, "v1": served}, found),
        ({"v0": off}, {"": ["configmaps"]}),
        (
            {"v0": replace(off, served=True), "v1": served},
            {"": ["pods", "pods/old", *found[""][1:]]},
        ),
    ):
        changed = copy(pods)
        changed.versions = versions
        assert names([changed, maps]) == same
