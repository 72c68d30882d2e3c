"""Paths of resources: what each form of them means, and which lead nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apiserver.codec import cbor
from apiserver.storage.interface import Store
from tests.support.api import Api, serving

CORE = "/api/v1"
CONFIG_MAPS = f"{CORE}/namespaces/default/configmaps"
UNKNOWN = "the server could not find the requested resource"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def refusal(api: Api, method: str, path: str, body: object = None) -> tuple[int, str]:
    status, answer = await api(method, path, body)
    return status, answer["message"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "may not be '.'"),
        ("..", "may not be '..'"),
        ("%2e%2e", "may not be '..'"),
        ("a%25b", "may not contain '%'"),
    ],
)
async def test_what_no_object_can_be_called_is_no_name(api: Api, name: str, why: str) -> None:
    shown = {"%2e%2e": "..", "a%25b": "a%b"}.get(name, name)
    expected = 400, f'Name parameter invalid: "{shown}": {why}'
    for path in (CONFIG_MAPS, f"{CORE}/nodes"):
        assert await refusal(api, "GET", f"{path}/{name}") == expected
        assert await refusal(api, "DELETE", f"{path}/{name}") == expected
        status, answer = await api.patch(f"{path}/{name}", {"metadata": {"labels": {"a": "b"}}})
        assert (status, answer["message"]) == expected


async def test_a_path_is_decoded_before_it_is_divided(api: Api) -> None:
    await api.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    one = await api.ok("GET", f"{CONFIG_MAPS}/a")
    assert await api.ok("GET", f"{CORE}/namespaces%2fdefault/c%6fnfigmaps%2Fa") == one
    # so what an encoded slash divides off is a subresource, and ConfigMaps have none
    assert await refusal(api, "GET", f"{CONFIG_MAPS}/a%2fstatus") == (404, UNKNOWN)


async def test_names_are_quoted_as_go_quotes_them(api: Api) -> None:
    assert await refusal(api, "GET", f"{CONFIG_MAPS}/a%0ab%22") == (
        404,
        'configmaps "a\\nb\\"" not found',
    )


async def test_a_namespace_without_a_name_is_every_namespace_to_a_list_alone(api: Api) -> None:
    await api.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    nameless = f"{CORE}/namespaces//configmaps"
    found = await api.ok("GET", nameless)
    assert found["items"] == (await api.ok("GET", f"{CORE}/configmaps"))["items"]
    assert len(found["items"]) > 0
    wanted = 400, "Namespace parameter required."
    assert await refusal(api, "GET", f"{nameless}/a") == wanted
    assert await refusal(api, "DELETE", f"{nameless}/a") == wanted
    assert await refusal(api, "DELETE", nameless) == wanted
    made = await refusal(api, "POST", nameless, {"metadata": {"name": "b"}})
    assert made == (422, 'ConfigMap "b" is invalid: metadata.namespace: Required value')
    assert (await api("GET", f"{CONFIG_MAPS}/a"))[0] == 200
    assert await refusal(api, "GET", f"{CORE}/namespaces//nodes") == (404, UNKNOWN)


async def test_what_has_no_namespace_is_in_none(api: Api) -> None:
    for resource in ("nodes", "namespaces"):
        for path in (f"namespaces/default/{resource}", f"namespaces/default/{resource}/x"):
            assert await refusal(api, "GET", f"{CORE}/{path}") == (404, UNKNOWN)
            assert await refusal(api, "DELETE", f"{CORE}/{path}") == (404, UNKNOWN)
    # the namespaces themselves, and what belongs to one of them, are there
    for path in ("namespaces/nope", "namespaces/nope/status"):
        assert await refusal(api, "GET", f"{CORE}/{path}") == (404, 'namespaces "nope" not found')


@pytest.mark.parametrize(
    "path",
    [
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x",
        f"{CORE}/bindings",
        f"{CORE}/namespaces/default/bindings/x",
    ],
)
async def test_a_path_that_no_verb_has_is_not_there(api: Api, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "HEAD"):
        status, _ = await api(method, path, None if method == "HEAD" else {})
        assert status == 404, method
    # one that has another verb is
    assert (await api("GET", f"{CORE}/namespaces/default/bindings"))[0] == 405
    assert (await api("POST", f"{CORE}/pods", {}))[0] == 405


async def test_what_is_met_on_the_way_to_a_resource_is_told_in_json(api: Api) -> None:
    """As of a request that is not let in: none of kube-apiserver's filters and routers has CBOR."""
    asked = {"accept": "application/cbor"}
    for path in (f"{CORE}/nopes", f"{CORE}/nodes/x/nope", f"{CORE}/pods/x"):
        status, answer = await api("GET", path, **asked)
        assert (status, answer["message"]) == (404, UNKNOWN)
    status, raw = await api("GET", f"{CORE}/nodes/x", **asked)
    assert status == 404
    assert cbor.loads(raw)["message"] == 'nodes "x" not found'


@pytest.mark.parametrize(
    "path",
    [
        "componentstatuses",
        "componentstatuses/etcd-0",
        "namespaces/default/pods/x/status",
        "namespaces/default/bindings",
    ],
)
async def test_the_old_path_of_a_watch_is_there_for_what_can_be_watched(
    api: Api, path: str
) -> None:
    for _ in range(2):  # what is routed is remembered
        assert (await api("GET", f"{CORE}/componentstatuses"))[0] == 200
        assert await refusal(api, "GET", f"{CORE}/watch/{path}") == (404, UNKNOWN)
