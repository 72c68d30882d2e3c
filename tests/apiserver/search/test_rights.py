"""Who finds what: nobody more than his lists show, and nobody learns that there is more.

eve may                                             finds
nothing                                             nothing
list configmaps in ns                               the ConfigMaps of ns
get, watch configmaps in ns                         nothing: she has no list
list configmaps in ns, by name                      nothing: that is not the whole list
list configmaps in all namespaces                   all ConfigMaps
list all in all namespaces                          all, of Secrets names, labels and annotations
list events in events.k8s.io                        Events, as those of events.k8s.io
what a webhook denies, or allows for a selector     nothing of it
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.authorizers.links import Named, Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.meta.objects import Object
from apiserver.search import rights
from apiserver.search.indexer import Indexer
from apiserver.storage import search as storage_search
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import Api, serving
from tests.support.grants import binding, role, rule
from tests.support.searches import SEARCHES, keys, search, status_of
from tests.support.users import RBAC, ROOT, as_user, authorizing

EVE = as_user("eve")
MAP, OTHER = ("configmaps", "ns", "web"), ("configmaps", "other", "web")
SECRET = ("secrets", "ns", "web")


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        authorizing(served)
        for namespace in ("ns", "other"):
            path = f"/api/v1/namespaces/{namespace}/configmaps"
            body = {"metadata": {"name": "web"}, "data": {"k": "found"}}
            await served.ok("POST", path, body, **ROOT)
        secret = {"metadata": {"name": "web"}, "stringData": {"key": "password"}}
        await served.ok("POST", "/api/v1/namespaces/ns/secrets", secret, **ROOT)
        yield served


async def grant(api: Api, rules: list[Object], namespace: str = "") -> None:
    """To eve."""
    where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    kind = "Role" if namespace else "ClusterRole"
    await api.ok("POST", f"{where}/{kind.lower()}s", role("r", rules), **ROOT)
    bound = binding("b", "r", "eve", kind=kind)
    await api.ok("POST", f"{where}/{kind.lower()}bindings", bound, **ROOT)


async def indexed(api: Api) -> None:
    assert await Indexer(api.registry.store).index(api.tenant.id, 1000)


@pytest.mark.parametrize(
    ("rules", "namespace", "found"),
    [
        ([], "", []),
        ([rule("configmaps", ["list"], "")], "ns", [MAP]),
        ([rule("configmaps", ["get", "watch"], "")], "ns", []),
        ([rule("configmaps", ["list"], "", resourceNames=["web"])], "ns", []),
        ([rule("configmaps", ["list"], "")], "", [MAP, OTHER]),
        ([rule("secrets", ["list"], "")], "ns", [SECRET]),
        ([rule("*", ["list"], "*")], "", [MAP, OTHER, SECRET]),
        ([rule("configmaps/status", ["list"], "")], "", []),
    ],
)
async def test_what_a_list_shows_is_found(
    api: Api, rules: list[Object], namespace: str, found: list[Any]
) -> None:
    await grant(api, rules, namespace)
    for _ in range(2):
        assert await search(api, "web", EVE) == found
        assert await search(api, "web", EVE, limit=1) == found
        assert await search(api, "found", EVE) == [k for k in found if k != SECRET]
        assert await search(api, "web", EVE, namespaces=["ns"]) == [k for k in found if k != OTHER]
        await indexed(api)


async def test_what_is_in_secrets_is_found_by_nobody(api: Api) -> None:
    for text in ("password", "cGFzc3dvcmQ", "key", "Opaque"):
        for _ in range(2):
            assert await search(api, text, ROOT, namespaces=["ns"]) == [], text
            await indexed(api)


async def test_events_as_what_they_may_be_listed_as(api: Api) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "ns"},
        "involvedObject": {"namespace": "ns"},
        "message": "found",
    }
    await api.ok("POST", "/api/v1/namespaces/ns/events", event, **ROOT)
    await grant(api, [rule("events", ["list"], "events.k8s.io")])
    (item,) = (await status_of(api, "found", EVE))["items"]
    assert (item["apiVersion"], item["resource"]) == ("events.k8s.io/v1", "events")


async def test_what_is_hidden_makes_no_answer_incomplete(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_search, "MOST_SINCE", 10_000)
    monkeypatch.setattr(rights, "MOST_PLACES", 1)
    await grant(api, [rule("configmaps", ["list"], "")])
    assert await search(api, "web", EVE, kinds=["configmaps"]) == [MAP, OTHER]
    status = await status_of(api, "web", EVE, kinds=["configmaps", "secrets"])
    assert "incomplete" not in status and "continue" not in status


async def test_who_may_list_in_parts_of_too_many_namespaces_is_told(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rights, "MOST_PLACES", 1)
    await grant(api, [rule("configmaps", ["list"], "")], "other")
    status = await status_of(api, "web", EVE, kinds=["configmaps"])
    assert status["incomplete"] and "name those that are meant" in status["why"]
    assert await search(api, "web", EVE, kinds=["configmaps"], namespaces=["other"]) == [OTHER]


class Denies(Stateless):
    """Before RBAC: lists in ``ns`` are denied, those of Secrets are allowed with a selector."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if attributes.verb == "list" and attributes.namespace == "ns":
            return Decision(False, denied=True)
        selected = bool(attributes.label_requirements or attributes.field_requirements)
        return Decision(attributes.resource == "secrets" and selected)

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return UserRules([], [])


async def test_what_another_authorizer_denies_is_not_found(api: Api) -> None:
    for namespace in ("ns", "other"):
        await grant(api, [rule("configmaps", ["list"], "")], namespace)
    assert await search(api, "web", EVE) == [MAP, OTHER]
    rbac = api.registry.authority.use([])
    api.registry.authority.use([Named("denies", "Webhook", Denies()), *rbac])
    assert await search(api, "web", EVE) == [OTHER]


async def test_who_is_not_known_may_not_ask(api: Api) -> None:
    status, answer = await api("POST", SEARCHES, {"spec": {"text": "web"}})
    assert (status, answer["reason"]) in [(401, "Unauthorized"), (403, "Forbidden")]
    for method in ("GET", "DELETE"):
        status, _ = await api(method, SEARCHES, **ROOT)
        assert status == 405


async def test_a_question_is_audited_and_can_be_a_dry_run(api: Api) -> None:
    answer = await api.ok("POST", f"{SEARCHES}?dryRun=All", {"spec": {"text": "web"}}, **ROOT)
    assert len(keys(answer["status"])) == 3
