"""kubectl and an API server of a tenant's own, through two workers of this one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.apiservers import (
    GROUP,
    NAME,
    PATH,
    Answering,
    ApiServer,
    Asked,
    api_server,
    documents,
)
from tests.support.installation import Installation, eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl
from tests.support.waiting import PATIENCE

pytestmark = [
    pytest.mark.slow,
    NEEDS_KUBECTL,
]

THING = {
    "kind": "Thing",
    "apiVersion": f"{GROUP}/v1",
    "metadata": {"name": "one", "namespace": "shop"},
}


async def things(asked: Asked, answer: Answering) -> None:
    path = asked.target.partition("?")[0]
    if path == f"{PATH}/namespaces/shop/things/one":
        await answer.whole(THING)
    elif path == f"{PATH}/namespaces/shop/things" and "watch=true" in asked.target:
        await answer.start(content_type="application/json", transfer_encoding="chunked")
        await answer.send(b'{"type":"ADDED","object":%s}\n' % json_of(THING))
        await asyncio.Event().wait()
    elif path == f"{PATH}/namespaces/shop/things":
        await answer.whole({"kind": "ThingList", "apiVersion": f"{GROUP}/v1", "items": [THING]})
    else:
        await documents(asked, answer)


def json_of(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value)


@contextmanager
def running() -> Iterator[ApiServer]:
    """The server on an event loop of its own: kubectl is waited for."""
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    made: list[ApiServer] = []

    async def serve() -> None:
        async with api_server(things, name="theirs.shop.svc") as server:
            made.append(server)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert started.wait(PATIENCE)
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
        loop.close()


def test_kubectl_reads_and_watches_through_it(
    installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    kubectl = Kubectl(installation.data / "admin.kubeconfig", home, "demo")
    with running() as server:
        for path, body in server.objects("shop"):
            code, answer = installation.request("POST", f"/clusters/demo{path}", body)
            assert code == 201, answer
        kubectl("wait", "apiservice", NAME, "--for=condition=Available", "--timeout=240s")
        eventually(lambda: "things" in kubectl("api-resources", f"--api-group={GROUP}"))
        assert "one" in kubectl("get", "things", "-n", "shop")
        assert kubectl.get("thing", "one", "-n", "shop") == THING
        with kubectl.watch("things", "-n", "shop", "-o", "name") as watching:
            assert watching.line() == f"thing.{GROUP}/one"
        asked = [a for a in server.asked if a.header("x-remote-user") == "admin"]
        assert asked and all("authorization" not in a.headers for a in asked)
        assert "things" not in kubectl.at("default")("api-resources")
