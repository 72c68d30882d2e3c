"""Who may do what with the past: the whole matrix. A right to revisions alone shows nothing; a
right to the object alone does not either."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.user import User
from tests.apiserver.history.asking import (
    CLUSTER,
    CONFIG_MAPS,
    ROOT,
    SECRETS,
    SHOP,
    config_map,
    listed,
    selecting,
)
from tests.support.api import Api

ALICE = User("alice", groups=("system:authenticated",))
NAMESPACES = "/api/v1/namespaces"


class Rules:
    """Grants as "verb resource[/subresource] [namespace [name]]"; "-" is no namespace, "*" any."""

    def __init__(self, *grants: str) -> None:
        self.grants = [tuple(grant.split()) for grant in grants]

    async def authorize(self, _: Any, asked: Attributes) -> Decision:
        return Decision(any(self._allows(grant, asked) for grant in self.grants))

    def _allows(self, grant: tuple[str, ...], asked: Attributes) -> bool:
        verb, resource, *where = grant
        namespace, name = (*where, "*", "*")[:2]
        return (
            verb in ("*", asked.verb)
            and resource in ("*", asked.full_resource)
            and namespace in ("*", asked.namespace or "-")
            and name in ("*", asked.name)
        )


def ask_as(api: Api, *grants: str) -> None:
    api.server.authorizer = cast(Any, Rules(*grants))


@pytest.fixture
async def past(api: Api) -> dict[str, str]:
    """Versions: of a ConfigMap, a Secret, and a Secret that is gone; of namespaces."""
    versions = {}
    for name in "shop", "other":
        made = await api.ok("POST", NAMESPACES, {"metadata": {"name": name}})
        versions[f"ns-{name}"] = made["metadata"]["resourceVersion"]
    await api.ok("POST", CONFIG_MAPS, config_map(a="1"))
    _, changed = await api.patch(f"{CONFIG_MAPS}/web", {"data": {"a": "2"}})
    versions["map"] = changed["metadata"]["resourceVersion"]
    for name in "s", "gone":
        secret = {"metadata": {"name": name}, "stringData": {"key": "word"}}
        made = await api.ok("POST", SECRETS, secret)
        versions[name] = made["metadata"]["resourceVersion"]
    await api.ok("DELETE", f"{SECRETS}/gone")
    return versions


WHO = "get revisions/audit"
READ = "get revisions"
LIST = "list revisions"
BACK = "create revisions/rollback"
UNDO = "create revisions/undelete"
UPDATE = "update configmaps"

ONE = "GET {shop}/{map}"
ONE_SECRET = "GET {shop}/{s}"
DIFF, BLAME = "GET {shop}/{map}/diff", "GET {shop}/{map}/blame"
ROLLBACK, UNDELETE = "POST {shop}/{map}/rollback", "POST {shop}/{gone}/undelete"
OF_MAP = "GET " + selecting("{shop}", resource="configmaps", name="web")
OF_MAPS = "GET " + selecting("{shop}", resource="configmaps")
OF_SECRETS = "GET " + selecting("{shop}", resource="secrets")
MAPS_THEN = "GET " + selecting("{shop}", resource="configmaps", asOf="{map}")
SECRETS_THEN = "GET " + selecting("{shop}", resource="secrets", asOf="{s}")
MAPS_EVERYWHERE = "GET " + selecting("{root}/revisions", resource="configmaps")
OF_SHOP, OF_OTHER = "GET {cluster}/{ns-shop}", "GET {cluster}/{ns-other}"

MATRIX = [
    # one revision: the right to revisions, and to the object
    (ONE, (), 403),
    (ONE, (READ,), 404),
    (ONE, ("get configmaps",), 403),
    (ONE, (READ, "get configmaps"), 200),
    (ONE, (READ, "get configmaps shop web"), 200),
    (ONE, (READ, "get configmaps shop other"), 404),
    (ONE, (READ, "get configmaps other"), 404),
    (ONE, (READ, "list configmaps"), 404),
    (ONE, (READ, "get secrets"), 404),
    (ONE, ("get revisions shop {map}", "get configmaps"), 200),
    (ONE, ("get revisions other", "get configmaps"), 403),
    # Secrets by the rights to secrets
    (ONE_SECRET, (READ, "get configmaps"), 404),
    (ONE_SECRET, (READ, "get secrets"), 200),
    # what is made of a revision
    (DIFF, (READ, "get configmaps"), 403),
    (DIFF, ("get revisions/diff",), 404),
    (DIFF, ("get revisions/diff", "get configmaps"), 200),
    (BLAME, (READ, "get configmaps"), 403),
    (BLAME, ("get revisions/blame",), 404),
    (BLAME, ("get revisions/blame", "get configmaps"), 200),
    # lists: of one object as get, of more as list
    (OF_MAP, ("get configmaps",), 403),
    (OF_MAP, (LIST,), 403),
    (OF_MAP, (LIST, "get configmaps shop web"), 200),
    (OF_MAP, (LIST, "list configmaps"), 403),
    (OF_MAPS, (LIST, "get configmaps"), 403),
    (OF_MAPS, (LIST, "list configmaps shop"), 200),
    (OF_MAPS, (LIST, "list configmaps other"), 403),
    (OF_SECRETS, (LIST, "list configmaps"), 403),
    (OF_SECRETS, (LIST, "list secrets"), 200),
    (MAPS_THEN, (LIST, "list secrets"), 403),
    (MAPS_THEN, (LIST, "list configmaps"), 200),
    (SECRETS_THEN, (LIST, "list configmaps"), 403),
    (MAPS_EVERYWHERE, (LIST, "list configmaps shop"), 403),
    (MAPS_EVERYWHERE, (LIST, "list configmaps -"), 200),
    (MAPS_EVERYWHERE, ("list revisions shop", "list configmaps -"), 403),
    # a namespace may be got by who may get it within itself
    (OF_SHOP, ("get clusterrevisions", "get namespaces shop"), 200),
    (OF_OTHER, ("get clusterrevisions", "get namespaces shop"), 404),
    (OF_SHOP, ("get revisions", "get namespaces"), 403),
    # writes: what the same write by hand needs, and to see the past
    (ROLLBACK, (BACK,), 404),
    (ROLLBACK, (BACK, UPDATE), 404),
    (ROLLBACK, (BACK, "get configmaps"), 403),
    (ROLLBACK, (BACK, "get configmaps", "patch configmaps"), 403),
    (ROLLBACK, ("get configmaps", UPDATE), 403),
    (ROLLBACK, (READ, "get configmaps", UPDATE), 403),
    (ROLLBACK, (UNDO, "get configmaps", UPDATE), 403),
    (ROLLBACK, (BACK, "get configmaps", UPDATE), 201),
    (ROLLBACK, (BACK, "get configmaps shop web", "update configmaps shop web"), 201),
    (UNDELETE, (UNDO, "get secrets"), 403),
    (UNDELETE, (UNDO, "get secrets", "update secrets"), 403),
    (UNDELETE, (UNDO, "create secrets"), 404),
    (UNDELETE, (BACK, "get secrets", "create secrets"), 403),
    (UNDELETE, (UNDO, "get secrets", "create secrets other"), 403),
    (UNDELETE, (UNDO, "get secrets", "create secrets"), 201),
]


@pytest.mark.parametrize(("asked", "grants", "status"), MATRIX)
async def test_the_matrix(
    api: Api, past: dict[str, str], asked: str, grants: tuple[str, ...], status: int
) -> None:
    ask_as(api, *(grant.format(**past) for grant in grants))
    method, _, path = asked.partition(" ")
    path = path.replace("%7B", "{").replace("%7D", "}")
    found = await api(method, path.format(shop=SHOP, root=ROOT, cluster=CLUSTER, **past))
    assert found[0] == status, found[1]


async def test_a_list_of_all_holds_what_may_be_listed(api: Api, past: dict[str, str]) -> None:
    async def resources(path: str) -> set[str]:
        return {revision["resource"] for revision in await listed(api, path)}

    then = selecting(SHOP, asOf=past["gone"])
    assert await resources(SHOP) == {"configmaps", "secrets"} == await resources(then)
    ask_as(api, LIST, "list configmaps")
    assert await resources(SHOP) == {"configmaps"} == await resources(then)
    ask_as(api, LIST, "list configmaps other", "get secrets")
    assert await resources(SHOP) == set() == await resources(then)


async def test_who_wrote_it_is_for_who_may_see_the_audit(api: Api, past: dict[str, str]) -> None:
    reader = (READ, LIST, "get revisions/blame", "get configmaps", "list configmaps")

    async def told() -> list[str]:
        one = await api.ok("GET", f"{SHOP}/{past['map']}")
        many = await listed(api, SHOP)
        lines = (await api.ok("GET", f"{SHOP}/{past['map']}/blame"))["fields"]
        asked = [r.get("request", {}).get("username", "") for r in [one, *many]]
        return [*asked, *(line.get("username", "") for line in lines)]

    ask_as(api, *reader)
    assert set(await told()) == {""}
    ask_as(api, *reader, "get revisions/audit other")
    assert set(await told()) == {""}
    ask_as(api, *reader, "get revisions/audit shop")
    assert set(await told()) == {"system:anonymous"}


async def test_a_refusal_names_the_object_to_who_named_it_alone(
    api: Api, past: dict[str, str]
) -> None:
    ask_as(api, READ, LIST)
    _, by_version = await api("GET", f"{SHOP}/{past['s']}")
    assert "secret" not in str(by_version)
    _, by_name = await api("GET", selecting(SHOP, resource="secrets", name="s"))
    assert 'cannot get resource "secrets" in API group "" in the namespace "shop"' in str(by_name)


async def test_other_tenants_have_another_past(api: Api, past: dict[str, str]) -> None:
    """The same numbers, in a tenant that has none of them."""
    number = api.tenant.id

    async def elsewhere(name: str) -> Any:
        info = SimpleNamespace(id=number + 1_000_000, name=name, state="active")
        info.max_watches = info.max_inflight = None
        return info

    api.server.directory = cast(Any, SimpleNamespace(tenant=elsewhere, token=None))
    assert (await api("GET", f"{SHOP}/{past['map']}"))[0] in (404, 503)
    status, found = await api("GET", SHOP)
    assert status == 503 or found["items"] == []
