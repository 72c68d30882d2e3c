"""Definitions as large as they may be: they take time by their size, not by its square, and hold up
nobody else meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiserver.endpoints import discovery
from apiserver.endpoints.openapi import documents
from apiserver.kinds.apiextensions.conditions import settle
from apiserver.kinds.apiextensions.resource import custom_resource
from apiserver.meta.objects import Object, copy_json
from apiserver.storage.interface import Store
from tests.apiserver.registry.test_custom_resources import CRDS, define
from tests.support.api import serving
from tests.support.definitions import CONTEXT, NOW, crd_resource, definition, established, prepared
from tests.support.growth import assert_linear
from tests.support.stretch import measured_lag

LAG = 0.1
"""Seconds of processor time for which the loop may be held at a stretch."""


def versions(count: int, *, alike: bool = False, storage: bool = True, **more: Any) -> Object:
    """A definition with that many versions; ``alike``: they have the same schema."""
    crd = definition()
    crd["spec"]["versions"] = [
        {
            "name": f"v{i + 1}",
            "served": True,
            "storage": storage and i == 0,
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {"a" if alike else f"a{i}": {"type": "string"}},
                }
            },
            "subresources": {"status": {}},
            **more,
        }
        for i in range(count)
    ]
    return crd


def _spec(count: int, **spec: Any) -> Object:
    crd = definition()
    crd["spec"] |= spec
    return crd


def _review_versions(count: int) -> Object:
    config = {"url": "https://example.com/convert"}
    webhook = {
        "clientConfig": config,
        "conversionReviewVersions": [f"v{i}" for i in range(10 * count)],
    }
    return _spec(count, conversion={"strategy": "Webhook", "webhook": webhook})


def _schema(**node: Any) -> Object:
    return definition({"type": "object", "properties": {"spec": {"type": "object", **node}}})


def _members(count: int, **member: Any) -> Object:
    return _schema(properties={f"m{i}": {"type": "string", **member} for i in range(count)})


def _keys(count: int) -> Object:
    """Keys of an associative list."""
    names = [f"k{i}" for i in range(count)]
    items = {
        "type": "object",
        "properties": {n: {"type": "string"} for n in names},
        "required": names,
    }
    listed = {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": names,
    }
    return _schema(properties={"l": listed})


SHAPES: dict[str, Callable[[int], Object]] = {
    "versions": versions,
    "versions that are alike": lambda n: versions(n, alike=True),
    "no version is stored": lambda n: versions(n, storage=False),
    "no version of those that are alike is stored": lambda n: versions(
        n, alike=True, storage=False
    ),
    "deprecated versions": lambda n: versions(n, deprecated=True),
    "review versions": _review_versions,
    "members": _members,
    "members with a default": lambda n: _members(n, default="x"),
    "members with enums": lambda n: _members(n, enum=["a", "b"]),
    "keys": _keys,
    "short names": lambda n: _spec(
        n, names={"plural": "foos", "kind": "Foo", "shortNames": [f"s{i}" for i in range(10 * n)]}
    ),
    "categories": lambda n: _spec(
        n, names={"plural": "foos", "kind": "Foo", "categories": [f"s{i}" for i in range(10 * n)]}
    ),
    "printer columns": lambda n: _columns(n),
}


def _columns(count: int) -> Object:
    crd = definition()
    columns = [{"name": f"c{i}", "type": "string", "jsonPath": f".spec.c{i}"} for i in range(count)]
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    return crd


def _whole_way(sent: Object) -> Callable[[], None]:
    """All that is made of a definition: validated as a new one and as a changed one, settled, and,
    if it is good, served and published."""
    text = orjson.dumps(sent)
    hooks = crd_resource().hooks

    def run() -> None:
        crd = prepared(orjson.loads(text))
        errors = hooks.validate_create(crd, CONTEXT)
        hooks.warnings(crd, None, CONTEXT)
        hooks.validate_update(crd, copy_json(crd), CONTEXT)
        settle(crd, [copy_json(crd)], NOW)
        crd["status"]["acceptedNames"]["shortNames"] = [
            f"t{i}" for i in range(len(crd["spec"]["names"].get("shortNames", ())))
        ]
        settle(crd, [copy_json(crd)], NOW)
        if not errors:
            resources = [custom_resource(crd)]
            discovery.aggregated(resources, core=False)
            discovery.api_group_list(resources)
            documents.by_entry(resources)

    return run


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_size(shape: str) -> None:
    """Four times the size takes four times as long, or somewhat more; it would be sixteen times
    where everything met everything."""
    _whole_way(SHAPES[shape](500))()
    assert_linear(lambda n: _whole_way(SHAPES[shape](n)), 1000)


def test_versions_of_many_definitions_of_one_group_are_listed_in_time() -> None:
    def resources(count: int) -> list[Any]:
        made = []
        for i in range(2):
            crd = versions(count)
            for version in crd["spec"]["versions"]:
                version["name"] = f"w{i}{version['name']}"
            made.append(custom_resource(established(crd)))
        return made

    def listed(count: int) -> Callable[[], object]:
        some = resources(count)
        return lambda: discovery.groups(some)

    assert_linear(listed, 2000)


async def test_a_definition_with_thousands_of_versions_holds_up_nobody(
    store: Store, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        with measured_lag() as lag:
            await define(api, versions(3000))
            assert lag.longest < LAG, "created and served"
            groups = await api.ok(
                "GET",
                "/apis",
                accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            )
            assert len(groups["items"][-1]["versions"]) == 3000
            await api.ok("GET", "/apis/example.com")
            await api.ok(
                "PATCH",
                f"{CRDS}/foos.example.com",
                {"metadata": {"labels": {"a": "b"}}},
                "application/merge-patch+json",
            )
            assert lag.longest < LAG, "published and changed"
            status, refused = await api("POST", CRDS, versions(3000, storage=False))
            assert status == 422 and len(orjson.dumps(refused)) < 2**20
            assert lag.longest < LAG, "refused"


async def test_the_first_use_of_a_large_schema_holds_up_nobody(store: Store, tenant: int) -> None:
    crd = _members(4000, default="x")
    async with serving(store, tenant) as api:
        with measured_lag() as lag:
            await define(api, crd)
            foo = {
                "apiVersion": "example.com/v1",
                "kind": "Foo",
                "metadata": {"name": "f"},
                "spec": {},
            }
            made = await api.ok("POST", "/apis/example.com/v1/namespaces/ns/foos", foo)
            assert made["spec"]["m3999"] == "x"
            assert lag.longest < LAG
