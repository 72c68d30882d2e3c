"""A search in several tenants: through tenant default, with a token or a role that is good in all,
and in each by its own rules. A search in one tenant never sees another.

who                                      through      finds
root, a token of one tenant              its own      403
root, a token for all tenants            acme         403
root, a token for all tenants            default      all
eve, a token for all tenants             default      what each tenant's RBAC lets eve list
a viewer (role, in the console)          default      all but Secrets
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.platformroles import LOOKING
from apiserver.search import searching
from apiserver.search.indexer import Indexer
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User, authenticated
from tests.support.api import Api, serving
from tests.support.fixtures import in_thread
from tests.support.grants import binding, role, rule
from tests.support.searches import SEARCHES, search, status_of
from tests.support.storage import numbers
from tests.support.users import RBAC, ROOT, as_user, authorizing

MAPS = "/api/v1/namespaces/ns/configmaps"
EVE, VIEWER, LOCAL = as_user("eve"), as_user("viewer"), as_user("local")


class Directory:
    """Tenants by their names; "local" has a token of one tenant, the others are good in all."""

    def __init__(self, named: dict[str, int]) -> None:
        self._named = named

    def _info(self, name: str, state: str = "active") -> Any:
        number = self._named[name]
        limits = {"max_watches": None, "max_inflight": None}
        return SimpleNamespace(id=number, name=name, state=state, **limits)

    async def tenant(self, name: str) -> Any:
        return self._info(name) if name in self._named else None

    async def token(self, secret: str, tenant_id: int) -> User | None:
        groups = authenticated((MASTERS,) if secret in ("root", "local") else (), secret)
        platform = frozenset({LOOKING}) if secret == "viewer" else frozenset[str]()
        everywhere = secret in ("root", "eve")
        return User(secret, groups=groups, everywhere=everywhere, platform=platform)

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return "default"

    async def active(self, names: Sequence[str], begin: str, limit: int) -> Sequence[Any]:
        fit = (n for n in sorted(self._named) if n >= begin and (not names or n in names))
        return [self._info(name) for name in list(fit)[:limit]]


@pytest.fixture
async def api(store: PostgresStore) -> AsyncIterator[Api]:
    """Tenants acme, bolt and default, each with a ConfigMap, a Secret and a note of its own."""
    named = {name: next(numbers) for name in ("default", "acme", "bolt")}
    for number in named.values():
        await in_thread(lambda number=number: tenants.create(number))  # type: ignore[misc]
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(store, named["default"]))
        authorizing(served)
        served.server.directory = cast(Any, Directory(named))
        for name in named:
            await fill(served, name)
        for number in named.values():
            assert await Indexer(store).index(number, 100)
        yield served


async def fill(api: Api, tenant: str) -> None:
    root = f"/clusters/{tenant}"
    body = {"metadata": {"name": "web"}, "data": {"k": f"canary-{tenant}"}}
    await api.ok("POST", f"{root}{MAPS}", body, **ROOT)
    secret = {"metadata": {"name": "web"}}
    await api.ok("POST", f"{root}/api/v1/namespaces/ns/secrets", secret, **ROOT)


def told(status: Any) -> list[tuple[str, str]]:
    return [(i["tenant"], i["resource"]) for i in status.get("items", ())]


async def everywhere(api: Api, text: str, headers: dict[str, str], **spec: Any) -> list[Any]:
    found: list[Any] = []
    token = ""
    while True:
        asked = {"tenants": ["*"], **spec, "continue": token}
        status = await status_of(api, text, headers, **asked)
        found += told(status)
        if not (token := status.get("continue", "")):
            return found


async def test_all_tenants_in_their_order(api: Api) -> None:
    every = [(t, r) for t in ("acme", "bolt", "default") for r in ("configmaps", "secrets")]
    for limit in (1, 2, 3, 6, 50):
        assert await everywhere(api, "web", ROOT, limit=limit) == every
    assert await everywhere(api, "web", ROOT, tenants=["bolt", "gone"]) == every[2:4]
    assert await everywhere(api, "canary-bolt", ROOT) == [("bolt", "configmaps")]


async def test_a_tenant_that_is_not_there_is_said_to_be_none(api: Api) -> None:
    """To those who may enter all of them; to others not a word of it."""
    lacking = 'there is no tenant "nope" that serves requests'
    for headers in (ROOT, EVE):
        status = await status_of(api, "web", headers, tenants=["nope", "bolt", "nope"])
        assert (status["incomplete"], status["why"]) == (True, lacking)
    first = await status_of(api, "web", ROOT, tenants=["bolt", "nope"], limit=1)
    assert first["why"] == lacking and told(first) == [("bolt", "configmaps")]
    token = first["continue"]
    asked = {"tenants": ["bolt", "nope"], "limit": 1, "continue": token}
    assert "why" not in await status_of(api, "web", ROOT, **asked), "once is enough"
    for named in (["bolt"], ["*"], ["*", "nope"]):
        assert "why" not in await status_of(api, "web", ROOT, tenants=named)


async def test_an_answer_that_takes_its_time_says_where_to_go_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SECONDS", -1.0)
    status = await status_of(api, "web", ROOT, tenants=["*"])
    assert status["items"] == [] and status["continue"]


async def test_each_tenant_answers_by_its_own_rules(api: Api) -> None:
    assert await everywhere(api, "web", EVE) == []
    lister = role("lister", [rule("configmaps", ["list"], "")])
    await api.ok("POST", f"/clusters/bolt{RBAC}/clusterroles", lister, **ROOT)
    bound = binding("lister", "lister", "eve")
    await api.ok("POST", f"/clusters/bolt{RBAC}/clusterrolebindings", bound, **ROOT)
    assert await everywhere(api, "web", EVE) == [("bolt", "configmaps")]


async def test_a_viewer_of_all_tenants_sees_no_secrets(api: Api) -> None:
    assert await everywhere(api, "web", VIEWER) == [
        (tenant, "configmaps") for tenant in ("acme", "bolt", "default")
    ]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (SEARCHES, LOCAL),
        (SEARCHES, {**ROOT, "impersonate_user": "eve"}),
        (f"/clusters/acme{SEARCHES}", ROOT),
        (f"/clusters/acme{SEARCHES}", VIEWER),
    ],
)
async def test_others_may_not_ask_for_tenants(api: Api, path: str, headers: dict[str, str]) -> None:
    body: Any = {"spec": {"text": "web", "tenants": ["bolt"]}}
    status, answer = await api("POST", path, body, **headers)
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert "canary" not in str(answer)
    body["spec"]["tenants"] = ["nope"]
    assert await api("POST", path, body, **headers) == (status, answer), "nor whether there are"


async def test_a_search_in_one_tenant_sees_no_other(api: Api) -> None:
    for tenant in ("acme", "bolt", "default"):
        path = f"/clusters/{tenant}{SEARCHES}"
        answer = await api.ok("POST", path, {"spec": {"text": "canary"}}, **ROOT)
        (item,) = answer["status"]["items"]
        assert item["matches"][0]["excerpt"] == f"canary-{tenant}"
        assert "tenant" not in item
    assert await search(api, "canary-acme", ROOT) == []
