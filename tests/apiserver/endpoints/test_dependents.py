"""DependentReview: who depends on an object, and what of it is shown to whom.

eve may                                             is told of
nothing                                             nothing
list configmaps in ns                               the ConfigMaps of ns
get configmaps in ns                                nothing: she could not find them by a list
list configmaps in ns, by name                      nothing: that is not the whole list
list all in all namespaces                          all
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.endpoints.views import relations
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.grants import NS, binding, role
from tests.support.users import ROOT, as_user, authorizing

REVIEWS = "/apis/relations.polyplane.dev/v1/dependentreviews"
CORE = "/api/v1/namespaces/{}/{}"
EVE = as_user("eve")


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        authorizing(served)
        yield served


async def owner_of(api: Api, *dependents: tuple[str, str, str], **more: Any) -> str:
    """The uid of a ConfigMap that these objects (namespace, resource, name) name as their owner."""
    made = await api.ok(
        "POST", CORE.format("ns", "configmaps"), {"metadata": {"name": "owner"}}, **ROOT
    )
    uid: str = made["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, **more}
    for namespace, resource, name in dependents:
        body = {"metadata": {"name": name, "ownerReferences": [reference]}}
        await api.ok("POST", CORE.format(namespace, resource), body, **ROOT)
    return uid


async def asked(api: Api, uid: str, **headers: str) -> Object:
    review = await api.ok("POST", REVIEWS, {"spec": {"uid": uid}}, **headers)
    status: Object = review["status"]
    return status


def named(status: Object) -> list[str]:
    return [f"{d['namespace']}/{d['resource']}/{d['name']}" for d in status.get("dependents", [])]


async def test_dependents_of_all_kinds_with_what_holds_them(api: Api) -> None:
    uid = await owner_of(api, ("ns", "secrets", "s"), ("ns", "configmaps", "c"), controller=True)
    path, held = f"{CORE.format('ns', 'secrets')}/s", {"metadata": {"finalizers": ["a/b"]}}
    await api.ok("PATCH", path, held, "application/merge-patch+json", **ROOT)
    await api.ok("DELETE", path, **ROOT)
    status = await asked(api, uid, **ROOT)
    assert named(status) == ["ns/configmaps/c", "ns/secrets/s"]
    secret = status["dependents"][1]
    assert secret.pop("uid") and secret.pop("deletionTimestamp")
    assert secret == {
        "version": "v1",
        "kind": "Secret",
        "resource": "secrets",
        "namespace": "ns",
        "name": "s",
        "controller": True,
        "finalizers": ["a/b"],
    }
    assert not status.get("incomplete")
    assert await asked(api, "no-uid'; \x00", **ROOT) == {}


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ([], []),
        ([{"verbs": ["list"]}], ["ns/configmaps/c"]),
        ([{"verbs": ["get"]}], []),
        ([{"verbs": ["list"], "resourceNames": ["c"]}], []),
        ([{"verbs": ["list"], "resources": ["*"]}], ["ns/configmaps/c", "ns/secrets/s"]),
    ],
)
async def test_nobody_is_told_what_he_may_not_list(
    api: Api, rules: list[Object], told: list[str]
) -> None:
    uid = await owner_of(api, ("ns", "secrets", "s"), ("ns", "configmaps", "c"))
    whole = [{"apiGroups": [""], "resources": ["configmaps"], **rule} for rule in rules]
    await api.ok("POST", f"{NS}/roles", role("maps", whole), **ROOT)
    bound = binding("b", "maps", "eve", kind="Role")
    await api.ok("POST", f"{NS}/rolebindings", bound, **ROOT)
    assert named(await asked(api, uid, **EVE)) == told


async def test_what_is_hidden_does_not_even_make_it_incomplete(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MOST", 1)
    uid = await owner_of(api, ("ns", "secrets", "s"), ("ns", "secrets", "t"))
    assert await asked(api, uid, **EVE) == {}
    status = await asked(api, uid, **ROOT)
    assert (named(status), status["incomplete"]) == (["ns/secrets/s"], True)


async def test_a_uid_is_needed(api: Api) -> None:
    status, answer = await api("POST", REVIEWS, {"spec": {"uid": ""}}, **ROOT)
    assert (status, answer["message"]) == (400, "spec.uid: Required value")
