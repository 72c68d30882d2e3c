"""Health endpoints as probes see them."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.authn.external import External
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.endpoints.views import health
from apiserver.storage.errors import Unavailable


class Store:
    def __init__(self, failure: Exception | None = None, delay: float = 0) -> None:
        self.failure, self.delay = failure, delay

    async def heads(self, tenants: list[int]) -> dict[int, Any]:
        await asyncio.sleep(self.delay)
        if self.failure is not None:
            raise self.failure
        return {}


def server(store: Store | None = None, **members: Any) -> Server:
    state = {
        "leaving": False,
        "stopping": False,
        "started": True,
        "born": time.monotonic(),
        "livez_grace": 0.0,
        "external": External(),
        **members,
    }
    return cast(Server, SimpleNamespace(registry=SimpleNamespace(store=store or Store()), **state))


def ask(target: str, of: Server) -> tuple[int, str]:
    async def unused(*_: Any) -> Any:
        raise AssertionError

    path, _, query = target.partition("?")
    request = ApiRequest(
        {
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "headers": [],
            "query_string": query.encode(),
        },
        unused,
    )
    response = asyncio.run(health.dispatch(of, request, unused))
    return response.status_code, response.content.decode()


@pytest.mark.parametrize("root", health.ROOTS)
def test_all_is_well(root: str) -> None:
    assert ask(f"/{root}", server()) == (200, "ok")
    status, text = ask(f"/{root}?verbose", server())
    assert status == 200 and "[+]etcd ok\n" in text and text.endswith(f"{root} check passed\n")


def test_a_database_that_is_away() -> None:
    broken = server(Store(Unavailable("gone")))
    status, text = ask("/readyz", broken)
    assert (
        status == 500
        and "[-]etcd failed: reason withheld\n" in text
        and text.endswith("readyz check failed\n")
    )
    assert ask("/livez?exclude=etcd", broken) == (200, "ok")
    assert ask("/livez/etcd", broken)[0] == 500 and ask("/livez/ping", broken) == (200, "ok")


def test_a_database_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "DATABASE_TIMEOUT", 0.01)
    assert ask("/livez/etcd", server(Store(delay=5)))[0] == 500


def test_exclusions_are_told() -> None:
    status, text = ask("/livez?verbose&exclude=etcd&exclude=nothing", server())
    assert status == 200 and "[+]etcd excluded: ok\n" in text
    assert 'warn: some health checks cannot be excluded: no matches for "nothing"\n' in text
    assert ask("/livez/nothing", server())[0] == 404


def test_readiness_fails_first_at_shutdown() -> None:
    leaving = server(leaving=True)
    assert ask("/readyz", leaving)[0] == 500 and ask("/livez", leaving)[0] == 200


def test_livez_waits_for_the_start_only_so_long() -> None:
    assert ask("/livez", server(started=False, livez_grace=60.0))[0] == 200
    assert (
        ask("/livez", server(started=False))[0]
        == ask("/readyz", server(started=False, livez_grace=60.0))[0]
        == 500
    )


def test_hooks_of_the_start_have_kube_apiservers_names() -> None:
    hook = "poststarthook/rbac/bootstrap-roles"
    assert ask(f"/livez/{hook}", server()) == (200, "ok")
    assert ask(f"/readyz/{hook}", server(started=False)) == (
        500,
        "internal server error: not finished\n",
    )
    assert f"[+]{hook} excluded: ok\n" in ask(f"/healthz?verbose&exclude={hook}", server())[1]


@pytest.mark.parametrize("root", health.ROOTS)
def test_what_the_start_begins_can_be_asked_for_by_kube_apiservers_names(root: str) -> None:
    """Monitors and upstream's own tests look for these lines."""
    lines = ask(f"/{root}?verbose", server())[1].splitlines()
    hooks = (
        "start-apiserver-admission-initializer",
        "bootstrap-controller",
        "storage-readiness",
        "start-service-ip-repair-controllers",
        "start-cluster-authentication-info-controller",
        "start-kube-aggregator-informers",
        "apiservice-registration-controller",
        "apiservice-status-local-available-controller",
        "apiservice-status-remote-available-controller",
        "kube-apiserver-autoregistration",
        "apiservice-openapi-controller",
    )
    wanted = {f"[+]poststarthook/{name} ok" for name in hooks}
    assert wanted | {"[+]autoregister-completion ok"} <= set(lines)
    late = ask(f"/{root}/autoregister-completion", server(started=False))
    assert late == (500, "internal server error: not finished\n")
