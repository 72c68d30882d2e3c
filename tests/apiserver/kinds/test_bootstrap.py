from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apiserver.authz.attributes import Attributes
from apiserver.authz.rbac import authorize
from apiserver.kinds.base import WriteContext
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.kinds.catalog import all_versions, resources
from apiserver.user import User
from tests.support.roles import Roles

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = Path(__file__).resolve().parents[4] / "shared" / "facts" / "bootstrap-objects.json"
OPENSHIFT_ONLY = {"system:controller:service-ca-cert-publisher"}


def test_every_object_is_one_that_the_api_would_take() -> None:
    kinds = {(r.group, r.kind): r for r in resources().values()}
    objects = bootstrap_objects(NOW)
    assert objects
    for obj in objects:
        group, _, version = obj["apiVersion"].rpartition("/")
        resource = kinds[group, obj["kind"]]
        typed, unknown = resource.decode(resource.versions[version], copy.deepcopy(obj))
        assert unknown == []
        assert resource.hooks.validate(typed, WriteContext(version, NOW)) == []
        assert len(resource.hooks.cells(typed, version, NOW)) == len(
            resource.versions[version].columns
        )


def test_no_two_objects_have_one_name_and_calls_share_nothing() -> None:
    first = bootstrap_objects(NOW)
    names = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in first]
    assert len(set(names)) == len(names)
    first[-1]["spec"]["clusterIP"] = first[10]["rules"] = "changed"
    assert bootstrap_objects(NOW)[-1]["spec"]["clusterIP"] == "10.0.0.1"


def test_every_version_that_can_be_served_has_its_apiservice() -> None:
    services = {
        (o["spec"].get("group", ""), o["spec"]["version"])
        for o in bootstrap_objects(NOW)
        if o["kind"] == "APIService"
    }
    versions = {(resource.group, resource.version) for resource in all_versions()}
    assert services == {gv for gv in versions if gv[0] != "apiregistration.k8s.io"}


@pytest.mark.shared
def test_the_data_says_what_the_facts_say() -> None:
    def known(o: dict[str, Any]) -> tuple[str, str]:
        return o["metadata"].get("namespace", ""), o["metadata"]["name"]

    made, facts = bootstrap_objects(NOW), json.loads(FACTS.read_bytes())
    assert facts
    for resource, listed in facts.items():
        kind = next(r.kind for r in resources().values() if r.resource == resource)
        mine = {known(o): o for o in made if o["kind"] == kind}
        wanted = {known(o): o for o in listed if o["metadata"]["name"] not in OPENSHIFT_ONLY}
        assert mine.keys() == wanted.keys()
        for key, obj in wanted.items():
            gathered = "aggregationRule" in obj
            for member, value in obj.items():
                if value is not None and not (gathered and member == "rules"):
                    assert mine[key][member] == value, (kind, key, member)


async def test_the_default_roles_let_users_discover_and_nothing_else() -> None:
    reader = Roles(bootstrap_objects(NOW))
    alice = User("alice", groups=("dev", "system:authenticated"))
    assert (
        await authorize(Attributes(alice, "get", path="/apis/apps", is_resource=False), reader)
    ).allowed
    review = Attributes(alice, "create", "authorization.k8s.io", "v1", "selfsubjectaccessreviews")
    assert (await authorize(review, reader)).allowed
    assert not (
        await authorize(Attributes(alice, "list", resource="pods", namespace="default"), reader)
    ).allowed
