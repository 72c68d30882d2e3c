"""The definitions that are in use out there: all are established, published, and gone without a
trace when they are deleted."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

import orjson
import pytest
import yaml

from apiserver.controllers.crd_apiservices import SERVICES
from apiserver.endpoints import discovery
from apiserver.endpoints.openapi import documents
from apiserver.endpoints.openapi.operations import definition_name
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.registry.definitions import DEFINITIONS
from tests.support.definitionworker import Worker

pytestmark = pytest.mark.shared


# one of two classes
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain "=" and times are strings, as in Kubernetes."""


_STRINGS = ("tag:yaml.org,2002:value", "tag:yaml.org,2002:timestamp")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, found) for tag, found in resolvers if tag not in _STRINGS]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


@cache
def definitions(shared: Path) -> tuple[Object, ...]:
    found = (
        crd
        for path in sorted(shared.glob("crds/*/*.yaml"))
        for crd in yaml.load_all(path.read_bytes(), _Loader)
    )
    return tuple(crd for crd in found if crd and crd.get("kind") == "CustomResourceDefinition")


def key(crd: Object) -> tuple[str, str]:
    return crd["spec"]["group"], crd["spec"]["names"]["plural"]


def served(crds: tuple[Object, ...]) -> set[tuple[str, str, str]]:
    """(group, version, plural)"""
    return {
        (crd["spec"]["group"], v["name"], key(crd)[1])
        for crd in crds
        for v in crd["spec"]["versions"]
        if v["served"]
    }


async def test_all_are_served_and_published_and_go_with_their_objects(
    worker: Worker, shared: Path
) -> None:
    crds = definitions(shared)
    await asyncio.gather(*(worker.create(DEFINITIONS, crd) for crd in crds))
    await worker.until(lambda: all(worker.serves(key(crd)) for crd in crds))
    resources = worker.catalog.all(worker.tenant)
    found = {
        (group["metadata"]["name"], version["version"], resource["resource"])
        for group in discovery.aggregated(resources, core=False)["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    assert served(crds) <= found
    swagger = orjson.loads(documents.build_v2(resources, "v").body)
    entries = documents.entries(resources)
    for crd in crds:
        group, plural = key(crd)
        for version in (v["name"] for v in crd["spec"]["versions"] if v["served"]):
            name = definition_name(GroupVersionKind(group, version, crd["spec"]["names"]["kind"]))
            assert name in swagger["definitions"], name
            assert f"apis/{group}/{version}" in entries
            assert any(
                path.endswith(f"/{plural}")
                for path in swagger["paths"]
                if path.startswith(f"/apis/{group}/{version}/")
            )
    for entry in (
        e
        for e in entries
        if e.rpartition("/")[0].removeprefix("apis/") in {key(crd)[0] for crd in crds}
    ):
        document = orjson.loads(
            documents.build_v3(documents.members(resources, entry), entry, "v").body
        )
        _, group, version = entry.split("/")
        for resource in (
            r for r in resources if r.definition and r.group == group and version in r.versions
        ):
            if resource.versions[version].served:
                assert definition_name(resource.gvk(version)) in document["components"]["schemas"]

    for crd in crds:
        await worker.delete(DEFINITIONS, crd["metadata"]["name"])
    await worker.until(lambda: not any(worker.serves(key(crd)) for crd in crds))
    assert not worker.catalog.definitions(worker.tenant)

    async def no_services() -> bool:
        return not (await worker.registry.store.list(worker.tenant.id, SERVICES)).records

    await worker.until_true(no_services)
