"""Scrapes of a real installation under load while its workers die: every one is read strictly, and
no counter goes back."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.support.exposition import Family, falls, read
from tests.support.installation import Installation, eventually

pytestmark = pytest.mark.slow

MAPS = "/api/v1/namespaces/default/configmaps"
PAGES = ("/metrics", "/clusters/default/metrics", "/metrics/slis")
DEATHS = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("scrapes"), prepared)
    installation.start()
    yield installation
    installation.stop()


def scrape(server: Installation, page: str) -> dict[str, Family] | None:
    """None where the worker died that was asked."""
    with suppress(OSError, http.client.HTTPException):
        status, text = server.request("GET", page)
        assert status == 200, text
        return read(text)
    return None


def replaced(server: Installation, worker: int) -> bool:
    alive = server.below("serve --fd")
    return worker not in alive and len(alive) == 2


class Load:
    """Requests of all kinds, until the end of the ``with``."""

    def __init__(self, server: Installation) -> None:
        self._server, self._over = server, threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _ask(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            name = f"{MAPS}/load-{number}"
            for method, path, body in (
                ("POST", MAPS, {"metadata": {"name": f"load-{number}"}}),
                ("GET", MAPS, None),
                ("GET", "/readyz", None),
                ("GET", f"{MAPS}?watch=true&timeoutSeconds=1", None),
                ("DELETE", name, None),
            ):
                with suppress(OSError, http.client.HTTPException, json.JSONDecodeError):
                    self._server.request(method, path, body)


def test_no_counter_goes_back_while_workers_die(server: Installation) -> None:
    last: dict[str, dict[str, Family]] = {}

    def all_pages() -> None:
        for page in PAGES:
            told = scrape(server, page)
            if told is not None:
                fallen = list(falls(last.get(page, {}), told))
                assert not fallen, f"{page}: {len(fallen)}, {fallen[:3]}"
                last[page] = told

    with Load(server):
        for death in range(DEATHS):
            for _ in range(5):
                all_pages()
            # what a worker has counted since it was last scraped goes with it, and no more
            workers = server.below("serve --fd")
            assert len(workers) == 2
            os.kill(workers[0], signal.SIGKILL if death % 2 else signal.SIGTERM)
            for _ in range(5):
                all_pages()
            eventually(partial(replaced, server, workers[0]))
    assert last.keys() == set(PAGES)
    for page in PAGES:
        assert last[page]
    total = last["/metrics"]["apiserver_request_total"].samples
    assert sum(total.values()) > 0
