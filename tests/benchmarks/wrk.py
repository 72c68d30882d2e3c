"""Load of one repeated GET: by wrk where it is installed (it takes the least from the server's
processors), otherwise by our own client."""

from __future__ import annotations

import asyncio
import re
import shutil

from tests.benchmarks.client import Site, drive, request
from tests.support.waiting import PATIENCE

WRK = shutil.which("wrk")
_RATE = re.compile(r"Requests/sec: *([\d.]+)")
_TOTAL = re.compile(r"(\d+) requests in ([\d.]+)s")
_BAD = re.compile(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)")


async def hammer(site: Site, path: str, clients: int, seconds: float) -> tuple[int, float]:
    """(answers, seconds), of a longer time where none came in this one. Raises RuntimeError when
    some were no success."""
    if WRK is None:
        data = request(site, "GET", path)
        load = await drive(site, clients, seconds, lambda client, number: data)
        return load.answers, load.seconds
    headers = [part for line in site.headers.decode().splitlines() for part in ("-H", line)]
    command = [
        WRK,
        "-t1",
        f"-c{clients}",
        f"-d{max(round(seconds), 1)}s",
        f"--timeout={PATIENCE:.0f}s",  # what is later than two seconds is slow, and no error
        *headers,
        f"https://127.0.0.1:{site.port}{path}",
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out = (await process.communicate())[0].decode()
    total, bad = _TOTAL.search(out), _BAD.search(out)
    if process.returncode or total is None or bad is not None:
        raise RuntimeError(f"wrk {path}: {out}")
    if not int(total[1]):
        return await hammer(site, path, clients, max(2 * seconds, 2))
    return int(total[1]), float(total[2])
