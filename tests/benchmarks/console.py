"""The console's lists in a real Chromium, in a tenant of as many ConfigMaps as the environment
variable POLYPLANE_BENCH_OBJECTS says (`tests.benchmarks.haystack`): how long the server takes for a
list's requests, how many statements PostgreSQL runs for it, and when a list shows what was written.

Each is opened several times: lists of the console itself as a click in it opens them, Django's as
pages. The time is that of all requests made meanwhile, from the first byte sent to the last
received, one after the other even where the browser sends them side by side; static files and
watches are not counted. The statements are those of the whole server meanwhile: of each statement,
whatever its values, as many as ran each time that the list was opened, so that one counts that the
server runs on its own only where it does so every time.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections import Counter
from functools import reduce
from operator import and_
from pathlib import Path

import psycopg

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import Connection, request
from tests.benchmarks.haystack import OBJECTS, TENANT, prepare
from tests.benchmarks.result import Result
from tests.support.consolebrowser import Account, Console, chromium, make_accounts
from tests.support.installation import eventually

TIMES, UPDATES = 10, 20
_MAPS = f"console/t/{TENANT}/core/configmaps"
_ELSEWHERE = "console/me"
LISTS = {
    "the live list while its cache is filled": _MAPS,
    "the live list of a namespace": f"{_MAPS}?namespace=ns-7",
    "the live list by name, backwards": f"{_MAPS}?sort=-Name",
    "the live list of a label": f"{_MAPS}?label=app%3Dapp-7",
    "tenants": "console/tenants",
    "audit": "console/audit",
    "the live list": _MAPS,
}
PAGES = {
    "objects": f"console/storedobject/?tenant={TENANT}",
    "objects of a namespace": f"console/storedobject/?tenant={TENANT}&namespace=ns-7",
    "objects that have finalizers": f"console/storedobject/?tenant={TENANT}&finalizers=yes",
    "changes": f"console/storedevent/?tenant={TENANT}",
    "audit entries": f"storage/auditentry/?tenant={TENANT}",
    "a list with the frame around it": _MAPS,
}
_GO = """
const link = document.createElement("a");
link.href = arguments[0];
document.body.append(link);
performance.clearResourceTimings();
window.since = performance.now();
link.click();
link.remove();
"""
_SPENT = """
const done = arguments[arguments.length - 1], since = window.since ?? -1;
const spent = () => [
  ...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource"),
].filter((e) => e.startTime >= since && new URL(e.name).pathname.startsWith("/admin/"))
 .reduce((sum, e) => sum + Math.max(e.responseEnd - e.requestStart, 0), 0);
let before = -1, quiet = 0;
const look = () => {
  const now = spent();
  quiet = now === before ? quiet + 1 : 0;
  before = now;
  if (quiet >= 8 && now) done(now);
  else setTimeout(look, 60);
};
look();
"""
"""Milliseconds of the requests, once there have been no more for half a second."""
_WATCH = """
window.seen = {};
new MutationObserver(() => {
  for (const row of document.querySelectorAll("tbody tr[data-key]"))
    window.seen[row.dataset.key] ??= Date.now();
}).observe(document.body, { childList: true, subtree: true });
"""
_STATEMENT = re.compile(
    r"LOG:  (?:statement|execute [^:]*): (?!BEGIN|COMMIT|ROLLBACK|SAVEPOINT)(.*(?:\n\t.*)*)"
)
_VALUE = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_VALUES = re.compile(r"\?(?:, *\?)+")


async def console(bench: Bench, objects: int = OBJECTS, times: int = TIMES) -> list[Result]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        raise RuntimeError("no Chromium: apt-get install chromium chromium-driver")
    await prepare(bench, objects)  # with the index: a worker would make it beside what is measured
    await bench.namespace("live", TENANT)
    return await asyncio.to_thread(_in_browser, bench, objects, times)


def _in_browser(bench: Bench, objects: int, times: int) -> list[Result]:
    make_accounts(bench.installation, Account("operator", superuser=True))
    browser = chromium()
    try:
        pages = Console(browser, bench.installation)
        browser.set_script_timeout(120)
        pages.log_in()
        results = []
        for name, path in {**LISTS, **PAGES}.items():
            bench.say(f"console: {name}")
            spent, statements = _opened(bench, pages, path, times, whole=name in PAGES)
            notes = {"worst": f"{spent[-1]:.0f} ms", "queries": statements}
            notes["objects"] = f"{objects:,}"
            results.append(Result(f"console, {name}", _half(spent), "ms", notes=notes))
        return [*results, _first_update(bench, pages, times=UPDATES)]
    finally:
        browser.quit()


def _half(spent: list[float]) -> float:
    return spent[len(spent) // 2]


def _opened(
    bench: Bench, pages: Console, path: str, times: int, *, whole: bool
) -> tuple[list[float], int]:
    """Milliseconds, sorted; and how many statements ran every time. The first time, in which the
    worker fills its caches, is left out. whole: as a page of its own."""
    spent, statements = [], []
    address = f"{pages.root}/admin/{path}"
    log = _Statements(bench)
    try:
        for number in range(times + 1):
            if not whole:
                pages.browser.get(f"{pages.root}/admin/{_ELSEWHERE}")
                pages.browser.execute_async_script(_SPENT)
            log.begin()
            if whole:
                pages.browser.get(address)
            else:
                pages.script(_GO, address)
            one = float(pages.browser.execute_async_script(_SPENT))
            if number:
                spent.append(one)
                statements.append(log.seen())
    finally:
        log.close()
    return sorted(spent), reduce(and_, statements).total()


class _Statements:
    """What PostgreSQL writes into its log of the statements that it runs."""

    def __init__(self, bench: Bench) -> None:
        self._conninfo = bench.conninfo
        self._log: Path = bench.installation.data / "log" / "postgresql.log"
        self._say("all")

    def begin(self) -> None:
        self._from = self._log.stat().st_size

    def seen(self) -> Counter[str]:
        """How often each has run since."""
        with self._log.open("rb") as log:
            log.seek(self._from)
            found = _STATEMENT.findall(log.read().decode(errors="replace"))
        return Counter(_VALUES.sub("?", _VALUE.sub("?", text)) for text in found)

    def close(self) -> None:
        self._say("none")

    def _say(self, which: str) -> None:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET log_statement = '{which}'".encode())
            connection.execute("SELECT pg_reload_conf()")
        eventually(lambda: self._said() == which)

    def _said(self) -> str:
        """What a new connection is given: by then PostgreSQL has told all others."""
        with psycopg.connect(self._conninfo) as connection:
            ((found,),) = connection.execute("SHOW log_statement").fetchall()
        return str(found)


def _first_update(bench: Bench, pages: Console, times: int) -> Result:
    """From the sending of a write until the list of its namespace shows it: where the machine is
    busy that may be before the writer has its answer."""
    pages.open(f"/t/{TENANT}/core/configmaps?namespace=live")
    pages.see("kube-root-ca.crt")
    pages.script(_WATCH)
    path = f"/clusters/{TENANT}/api/v1/namespaces/live/configmaps"
    sent: dict[str, float] = {}

    async def write() -> None:
        connection = await Connection.open(bench.site)
        for number in range(times):
            data = request(bench.site, "POST", path, configmap(f"live-{number}"))
            sent[f"live/live-{number}"] = time.time() * 1000
            await connection.expect(data)
            await asyncio.sleep(0.3)
        connection.close()

    asyncio.run(write())
    pages.see(f"live-{times - 1}")
    seen: dict[str, float] = pages.script("return window.seen")
    lags = sorted(seen[key] - at for key, at in sent.items())
    notes = {"worst": f"{lags[-1]:.0f} ms"}
    return Result("console, a write is seen", _half(lags), "ms", notes=notes)
