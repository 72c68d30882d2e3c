"""Bytes that are no request, or too much of one, against a real worker, while another tenant goes
on being served.

How long a worker makes others wait is measured by the processor time that it uses between a
neighbour's request and its answer: on a busy machine that stays what it is, and a worker that does
nothing else is blocked for no longer.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import pytest

from tests.support import nastyhttp
from tests.support.installation import Installation
from tests.support.nastyhttp import CHUNKED, GET, HOST, POST
from tests.support.raw import Raw, processor_seconds
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

LAG = 0.1
"""Seconds of processor time that a neighbour waits for at most."""
MUTANTS = 300


class Neighbour:
    """A client of another tenant on the same worker."""

    def __init__(self, installation: Installation) -> None:
        self.pid = installation.below("serve --fd")[0]
        self._connection = Raw(installation)
        # from the cache: while the worker waited for PostgreSQL, it would use processor time that
        # keeps nobody waiting
        path = b"GET /clusters/demo/api/v1/namespaces/shop?resourceVersion=0 HTTP/1.1\r\n"
        self._request = path + HOST + f"Authorization: Bearer {installation.token}\r\n\r\n".encode()
        self.worst: tuple[float, str] = (0.0, "")
        self._before = 0.0

    def close(self) -> None:
        self._connection.close()

    def get(self, what: str) -> float:
        """Processor seconds of the worker until the answer came."""
        self.ask()
        return self.hear(what)

    def ask(self) -> None:
        self._before = processor_seconds(self.pid)
        self._connection.send(self._request)

    def hear(self, what: str) -> float:
        status, answer = self._connection.answer()
        took = processor_seconds(self.pid) - self._before
        assert status == 200, answer
        self.worst = max(self.worst, (took, what))
        return took


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[Installation]:
    """One worker, so that everybody has the same; time-outs of a second, so that what must time out
    does."""
    installation = Installation(tmp_path_factory.mktemp("fuzz"), prepared)
    installation.env |= {
        "POLYPLANE_WORKERS": "1",
        "POLYPLANE_HEADER_TIMEOUT_SECONDS": "1",
        "POLYPLANE_BODY_TIMEOUT_SECONDS": "1",
    }
    installation.start()
    yield installation
    installation.stop()


@pytest.fixture(scope="module")
def neighbour(server: Installation) -> Iterator[Neighbour]:
    client = Neighbour(server)
    for _ in range(50):
        client.get("warming up")
    client.worst = (0.0, "")
    yield client
    client.close()
    report(client)


@pytest.fixture(autouse=True)
def nothing_in_the_log(server: Installation) -> Iterator[None]:
    """No mistake of a client is an error of the server's."""
    yield
    log = server.output()
    assert "Traceback" not in log and not re.search(r" (ERROR|CRITICAL) ", log), log[-3000:]


@pytest.mark.parametrize("name", nastyhttp.REFUSED)
def test_is_refused(server: Installation, neighbour: Neighbour, name: str) -> None:
    with Raw(server) as client:
        sending = client.send_in_background([nastyhttp.REFUSED[name]])
        lag = neighbour.get(name)
        answer = client.rest()
        sending.join(PATIENCE)
    assert re.fullmatch(rb"(HTTP/1\.1 4\d\d .*)?", answer, re.DOTALL), answer[:300]
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert lag < LAG


@pytest.mark.parametrize("name", nastyhttp.ANSWERED)
def test_is_answered(server: Installation, neighbour: Neighbour, name: str) -> None:
    with Raw(server) as client:
        client.send(nastyhttp.ANSWERED[name])
        lag = neighbour.get(name)
        status, answer = client.answer()
    assert status < 500, answer[:300]
    assert lag < LAG


@pytest.mark.parametrize("name", nastyhttp.HALF)
def test_half_a_request_is_not_waited_for(
    server: Installation, neighbour: Neighbour, name: str
) -> None:
    with Raw(server) as client:
        client.send(nastyhttp.HALF[name])
        assert neighbour.get(name) < LAG
        assert re.match(rb"HTTP/1\.1 4\d\d |$", client.rest())


@pytest.mark.parametrize("name", nastyhttp.FLOODS)
def test_flood(server: Installation, neighbour: Neighbour, name: str) -> None:
    """The client reads no answer for as long as it can send."""
    before = server_memory(neighbour.pid)
    with Raw(server) as client:
        sending = client.send_in_background([nastyhttp.FLOODS[name]])
        lags = [neighbour.get(name)]
        for _ in range(200):
            lags.append(neighbour.get(name))
            if not sending.is_alive():
                break
            time.sleep(0.005)
        grown = server_memory(neighbour.pid) - before
    sending.join(PATIENCE)
    assert max(lags) < LAG
    assert grown < 32 << 20


def test_mutants(server: Installation, neighbour: Neighbour) -> None:
    open_ends, lags = [], []
    with ExitStack() as clients:
        for text in nastyhttp.mutants(MUTANTS):
            client = clients.enter_context(Raw(server))
            client.send(text)
            lags.append(neighbour.get(repr(text)))
            open_ends.append((client, text))
        for client, text in open_ends:
            status, answer = client.answer()
            assert status < 500, (text, answer)
    assert max(lags) < LAG


def test_clients_that_connect_together_take_turns(
    server: Installation, neighbour: Neighbour
) -> None:
    """600 handshakes are some 250 ms of work (median, when none takes turns); the worker is stopped
    until all of them wait. The median of five waves counts, because a request may fall on a renewal
    of what is known of its tenant, and wait for PostgreSQL meanwhile."""
    hello, lags = client_hello(), []
    for _ in range(5):
        with ExitStack() as stack:
            os.kill(neighbour.pid, signal.SIGSTOP)
            stack.callback(os.kill, neighbour.pid, signal.SIGCONT)
            for _ in range(600):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(
                    hello
                )
            neighbour.ask()
            os.kill(neighbour.pid, signal.SIGCONT)
            first = neighbour.hear("600 handshakes")
            lags.append(max(first, *(neighbour.get("600 handshakes") for _ in range(60))))
    assert median(lags) < LAG / 2, lags


def client_hello() -> bytes:
    """What a TLS client says first."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(
        ssl.MemoryBIO(), outgoing, server_hostname="polyplane"
    )
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def server_memory(pid: int) -> int:
    """Bytes."""
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_a_trailer_is_no_header(server: Installation) -> None:
    body = b'{"metadata": {"name": "smuggled"}}'
    head = CHUNKED + b"Content-Type: application/json\r\n"
    chunks = b"\r\n%x\r\n%s\r\n0\r\n" % (len(body), body)
    admin = f"Authorization: Bearer {server.token}\r\n".encode()
    with Raw(server) as client:
        client.send(head + chunks + admin + b"\r\n")
        status, answer = client.answer()
        assert status == 403 and b"system:anonymous" in answer
        client.send(
            head.replace(b"namespaces", b"namespaces?dryRun=All")
            + admin
            + chunks
            + b"Impersonate-User: nobody\r\n\r\n"
        )
        status, answer = client.answer()
        assert status == 201, answer


def test_the_first_of_two_counts(server: Installation) -> None:
    """As for Go's Header.Get."""
    admin, nobody = (
        f"Authorization: Bearer {server.token}\r\n".encode(),
        b"Authorization: Bearer nobody\r\n",
    )
    for headers, expected in ((admin + nobody, 200), (nobody + admin, 401)):
        status, answer = ask(server, b"/api/v1/namespaces", headers)
        assert status == expected, answer


def test_a_body_is_refused_before_its_request_is_answered(server: Installation) -> None:
    """The client must not take the answer to what it did not send for that to what it did."""
    admin = f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n".encode()
    with Raw(server) as client:
        client.send(POST + admin + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
        answer = client.rest()
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1


def test_what_follows_a_watch_does_not_break_into_it(server: Installation) -> None:
    admin = f"Authorization: Bearer {server.token}\r\n".encode()
    with Raw(server) as client:
        client.send(
            GET.replace(b"/version", b"/api/v1/namespaces?watch=true&timeoutSeconds=60")
            + admin
            + b"\r\n"
        )
        while b"ADDED" not in (first := client.receive()):
            assert first
        client.send(b"\0\0 nonsense \r\n\r\n")
        assert b"HTTP/1.1" not in client.rest()


def test_pipelined_requests_are_answered_in_order(server: Installation) -> None:
    admin = f"Authorization: Bearer {server.token}\r\n".encode()
    paths = [b"/version", b"/api/v1/namespaces/default", b"/nothing"] * 100
    with Raw(server) as client:
        client.send(
            b"".join(GET.replace(b"/version", path) + admin + b"\r\n" for path in paths[:-1])
        )
        client.send(GET.replace(b"/version", paths[-1]) + admin + b"Connection: close\r\n\r\n")
        statuses = re.findall(rb"HTTP/1\.1 (\d+)", client.rest())
    assert statuses == [b"200", b"200", b"404"] * 100


def test_plain_http_is_told_so(server: Installation) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 60) as client:
        client.sendall(GET + b"\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.0 400 Bad Request\r\n")


def test_audit_id_is_echoed_whole_and_logged_short(server: Installation) -> None:
    status, answer = ask(server, b"/api/v1/namespaces", b"Audit-ID: " + b"x" * 5000 + b"\r\n")
    assert status == 403 and b"audit-id: " + b"x" * 5000 + b"\r\n" in answer
    assert "x" * 65 not in server.output()


def test_answers_are_not_sniffed(server: Installation) -> None:
    for path in (b"/version", b"/api/v1/namespaces", b"/nothing", b"/openapi/v2", b"/livez"):
        _, answer = ask(server, path)
        assert (
            b"\r\nx-content-type-options: nosniff\r\n" in answer.partition(b"\r\n\r\n")[0] + b"\r\n"
        ), path


def ask(server: Installation, path: bytes, headers: bytes = b"") -> tuple[int, bytes]:
    with Raw(server) as client:
        client.send(GET.replace(b"/version", path) + headers + b"\r\n")
        return client.answer()


def report(neighbour: Neighbour) -> None:
    """The figures for docs/security.md."""
    cases = (
        len(nastyhttp.REFUSED)
        + len(nastyhttp.ANSWERED)
        + len(nastyhttp.HALF)
        + len(nastyhttp.FLOODS)
        + MUTANTS
    )
    print(
        json.dumps(
            {
                "cases": cases,
                "worst_ms": round(neighbour.worst[0] * 1000, 1),
                "at": neighbour.worst[1][:80],
            }
        )
    )
