"""A tenant's answers are the same bytes whatever its neighbours on the worker do: the same requests
are sent in a world with a busy neighbour and in one without. Uids, times and audit ids aside;
resourceVersions are a tenant's own and must be the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.endpoints import metrics
from apiserver.endpoints.request import Message
from apiserver.registry.authorizer import TenantAuthorizer
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User
from tests.support.api import TYPES, Api, receive_of, serving
from tests.support.fixtures import in_thread
from tests.support.storage import numbers

_UID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CONTINUE = re.compile(rb'"continue":"[^"]+"')  # signed, for a tenant's number
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
MAPS = "/api/v1/namespaces/ns/configmaps"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
READS = [
    MAPS,
    "/api/v1/configmaps",
    f"{MAPS}?limit=1",
    f"{MAPS}?labelSelector=a%3Db",
    "/api/v1/namespaces",
    BINDINGS,
    CRDS,
    "/api",
    "/apis",
    "/apis/shared.example.com/v1",
    "/apis/shared.example.com/v1/things",
    "/openapi/v3",
    "/version",
    "/nonsense",
    f"{MAPS}?limit=-1",
    f"{MAPS}?resourceVersion=x",
    f"{MAPS}?continue=e30",
    f"{MAPS}?watch=true&timeoutSeconds=x",
    "/readyz?verbose",
]


class Step(NamedTuple):
    method: str
    path: str
    body: Any = None
    type: str = "application/json"


def _definition(group: str, kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": plural, "kind": kind}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    }


name = st.sampled_from(["a", "b", "c"])
text = st.sampled_from(["", "x", "é", "y" * 3000])
step = st.one_of(
    st.sampled_from(READS).map(lambda path: Step("GET", path)),
    name.map(lambda n: Step("GET", f"{MAPS}/{n}")),
    name.map(lambda n: Step("DELETE", f"{MAPS}/{n}")),
    st.tuples(name, text).map(
        lambda t: Step(
            "POST", MAPS, {"metadata": {"name": t[0], "labels": {"a": "b"}}, "data": {"k": t[1]}}
        )
    ),
    st.tuples(name, text).map(
        lambda t: Step("PUT", f"{MAPS}/{t[0]}", {"metadata": {"name": t[0]}, "data": {"k": t[1]}})
    ),
    st.tuples(name, text).map(
        lambda t: Step("PATCH", f"{MAPS}/{t[0]}", {"data": {"k": t[1]}}, TYPES["merge"])
    ),
    name.map(lambda n: Step("POST", BINDINGS, {"metadata": {"name": n}, "rules": []})),
    st.sampled_from(["shared.example.com", "other.example.com"]).map(
        lambda g: Step("POST", CRDS, _definition(g, "Thing"))
    ),
    st.sampled_from(["shared.example.com", "other.example.com"]).map(
        lambda g: Step("DELETE", f"{CRDS}/things.{g}")
    ),
    st.sampled_from([b"{", b"[]", b'{"kind":1}', b""]).map(lambda b: Step("POST", MAPS, b)),
)


class Directory:
    """What every world calls its tenants by is the same."""

    def __init__(self, **numbers: int) -> None:
        self.numbers = numbers

    async def tenant(self, name: str) -> Any:
        number = self.numbers.get(name)
        return number and SimpleNamespace(
            id=number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User("admin", groups=(MASTERS,)) if self.numbers.get(secret) == tenant_id else None


_BYTES = re.compile(rb"apiserver_response_sizes_(sum|bucket)")


async def answer(api: Api, tenant: str, step: Step, token: str = "") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    body = (
        step.body
        if isinstance(step.body, bytes)
        else b""
        if step.body is None
        else orjson.dumps(step.body)
    )
    path, _, query = f"/clusters/{tenant}{step.path}".partition("?")
    headers = [
        (b"authorization", f"Bearer {token or tenant}".encode()),
        (b"content-type", step.type.encode()),
        (b"user-agent", b"t/1"),
    ]
    scope = {
        "type": "http",
        "method": step.method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
    }
    await api._entry({**scope, "headers": headers}, receive_of(body), send)
    return sent


def wire(sent: list[Message], first: int) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body, without what is new each time; resourceVersions are counted from
    ``first``, where the tenant began."""
    headers = [
        (k, v) for k, v in sent[0]["headers"] if k not in (b"audit-id", b"content-length", b"date")
    ]
    body = b"".join(m.get("body", b"") for m in sent[1:])
    body = _VERSION.sub(lambda found: b'"resourceVersion":"%d"' % (int(found[1]) - first), body)
    return (
        sent[0]["status"],
        headers,
        _CONTINUE.sub(b'"continue":"c"', _TIME.sub(b"T", _UID.sub(b"U", body))),
    )


def told(number: int) -> list[bytes]:
    """What the tenant's metrics say of its requests: how many they were, not how long they took,
    nor their bytes, which grow with the digits of the installation's next resourceVersion."""
    metrics.fold()
    lines = b"".join(metrics.of_tenant(number).registry.expose()).splitlines()
    return [line for line in lines if b"seconds" not in line and not _BYTES.match(line)]


async def world(
    store: PostgresStore, mine: Sequence[Step], neighbour: Sequence[Step]
) -> tuple[list[Any], list[bytes]]:
    acme, bolt = next(numbers), next(numbers)
    await in_thread(lambda: [tenants.create(number) for number in (acme, bolt)])
    try:
        async with serving(store, acme) as api:
            api.server.git_version = (
                "of two worlds"  # what is kept by it belongs to the loop of these tests
            )
            api.server.directory = Directory(acme=acme, bolt=bolt)
            api.server.authorizer = TenantAuthorizer(api.registry)
            for name in ("acme", "bolt"):
                await answer(
                    api, name, Step("POST", "/api/v1/namespaces", {"metadata": {"name": "ns"}})
                )
            answers, first = [], await store.head(acme)
            for i, step in enumerate(mine):
                busy = [asyncio.create_task(answer(api, "bolt", s)) for s in neighbour[i::2]]
                busy += [
                    asyncio.create_task(answer(api, "bolt", s, token="acme"))
                    for s in neighbour[i::5]
                ]
                answers.append(wire(await answer(api, "acme", step), first))
                await asyncio.gather(*busy)
            return answers, told(acme)
    finally:
        metrics.forget(acme)
        metrics.forget(bolt)
        await in_thread(lambda: [tenants.drop(number) for number in (acme, bolt)])


async def compare(postgres: str, mine: Sequence[Step], neighbour: Sequence[Step]) -> None:
    store = PostgresStore(postgres, size=4)
    await store.open()
    try:
        alone, told_alone = await world(store, mine, [])
        together, told_together = await world(store, mine, neighbour)
    finally:
        await store.close()
    for step, one, two in zip(mine, alone, together, strict=True):
        assert one == two, step
    assert told_alone == told_together


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One loop for all examples, as a worker has: what is built once for all tenants belongs to
    it."""
    with asyncio.Runner() as made:
        yield made


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    mine=st.lists(step, min_size=1, max_size=12), neighbour=st.lists(step, min_size=1, max_size=24)
)
def test_answers_do_not_depend_on_neighbours(
    postgres: str, runner: asyncio.Runner, mine: list[Step], neighbour: list[Step]
) -> None:
    runner.run(compare(postgres, mine, neighbour))
