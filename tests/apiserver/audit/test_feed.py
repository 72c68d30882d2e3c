"""Where events go beside the table: a queue that keeps nobody waiting, a file that may be moved
away, a webhook that may be slow, broken or gone."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from apiserver.audit import counts, feed
from apiserver.audit.feed import Feed
from apiserver.audit.logfile import LogFile
from apiserver.audit.webhook import TRIES, Target, Webhook
from tests.support.waiting import PATIENCE


class Slow(Feed):
    """Waits in each batch until it is let go on."""

    def __init__(self) -> None:
        super().__init__("slow", batch=10, batch_bytes=100, wait=0.0)
        self.go, self.begun = threading.Event(), threading.Event()
        self.batches: list[list[bytes]] = []

    def write(self, events: Sequence[bytes]) -> None:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        self.batches.append(list(events))


def test_what_finds_no_room_is_counted_and_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MOST_EVENTS", 20)
    slow, before = Slow(), counts.LOST.get(("slow",), 0)
    slow.put(b"first")
    assert slow.begun.wait(PATIENCE)
    for number in range(50):
        slow.put(b"%d" % number)
    assert slow.dropped == 30 == counts.LOST["slow",] - before
    slow.go.set()
    slow.close(60)
    written = [event for batch in slow.batches for event in batch]
    assert written == [b"first", *(b"%d" % number for number in range(20))]
    assert slow.done == 21


def test_bytes_are_bounded_in_the_queue_and_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MOST_BYTES", 300)
    slow = Slow()
    slow.put(b"first")
    assert slow.begun.wait(PATIENCE)
    for _ in range(5):
        slow.put(b"x" * 70)
    assert slow.dropped == 1, "four of 70 bytes are what 300 have room for"
    slow.go.set()
    slow.close(60)
    assert [len(batch) for batch in slow.batches] == [1, 1, 1, 1, 1], "two have more than 100"


class Broken(Feed):
    def __init__(self) -> None:
        super().__init__("broken", batch=1, batch_bytes=100, wait=0.0)
        self.seen: list[bytes] = []

    def write(self, events: Sequence[bytes]) -> None:
        self.seen += events
        if events == [b"bad"]:
            raise OSError("the disk is full")


def test_a_batch_that_fails_is_lost_alone() -> None:
    broken = Broken()
    for event in (b"a", b"bad", b"b"):
        broken.put(event)
    broken.close(60)
    assert broken.seen == [b"a", b"bad", b"b"]
    assert (broken.done, broken.dropped) == (2, 1)
    broken.put(b"late")
    assert broken.dropped == 2, "what comes after the end is lost, too"


# --- the file -------------------------------------------------------------------------------------
def test_a_file_gets_lines_and_is_opened_anew_when_it_was_moved(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = LogFile(str(path))
    log.write([b'{"n":1}', b'{"n":2}'])
    os.rename(path, tmp_path / "audit.log.1")
    log.write([b'{"n":3}'])
    log.finish()
    assert (tmp_path / "audit.log.1").read_bytes() == b'{"n":1}\n{"n":2}\n'
    assert path.read_bytes() == b'{"n":3}\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_disk_that_is_full_in_the_middle_of_a_line_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write, room = tmp_path / "audit.jsonl", os.write, [3]

    def full(fd: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "full")
        part = bytes(data)[: room[0]]
        room[0] -= len(part)
        return write(fd, part)

    log = LogFile(str(path))
    monkeypatch.setattr(os, "write", full)
    for left in (3, 0):
        room[0] = left
        with pytest.raises(OSError, match="full"):
            log.write([b'{"lost":1}', b'{"lost":2}'])
    room[0] = 2**20
    for number in range(2):
        log.write([b'{"n":%d}' % number])
    log.finish()
    torn, *lines = path.read_text().splitlines()
    assert (torn, lines) == ('{"l', ['{"n":0}', '{"n":1}'])


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b"before\n")
    log = LogFile(str(path))
    log.put(b"after")
    log.close(60)
    assert path.read_bytes() == b"before\nafter\n"


# --- the webhook ----------------------------------------------------------------------------------
class Receiver(ThreadingHTTPServer):
    """Answers with the codes it is given, then with 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.codes: list[int] = []
        self.bodies: list[dict[str, object]] = []
        self.tokens: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.bodies.append(json.loads(self.rfile.read(length)))
        self.server.tokens.append(self.headers.get("Authorization", ""))
        self.send_response(self.server.codes.pop(0) if self.server.codes else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def target(receiver: Receiver, headers: Callable[[], dict[str, str]] = dict) -> Target:
    return Target(f"http://127.0.0.1:{receiver.server_address[1]}/events", headers)


def test_a_webhook_gets_lists_of_events(receiver: Receiver) -> None:
    webhook = Webhook(target(receiver, lambda: {"Authorization": "Bearer s3cret"}))
    webhook.write([b'{"n":1}', b'{"n":2}'])
    (body,) = receiver.bodies
    assert (body["kind"], body["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
    assert body["items"] == [{"n": 1}, {"n": 2}]
    assert receiver.tokens == ["Bearer s3cret"]


def test_a_webhook_that_fails_for_a_moment_is_asked_again(receiver: Receiver) -> None:
    receiver.codes = [503, 429]
    Webhook(target(receiver), first_pause=0.001).write([b"{}"])
    assert len(receiver.bodies) == 3


def test_a_webhook_that_fails_for_ever_loses_the_batch_and_no_more(receiver: Receiver) -> None:
    receiver.codes = [500] * TRIES
    webhook = Webhook(target(receiver), first_pause=0.001)
    with pytest.raises(OSError, match="answered 500"):
        webhook.write([b"{}"])
    assert len(receiver.bodies) == TRIES
    webhook.write([b"{}"])


def test_a_webhook_that_does_not_want_it_is_not_asked_again(receiver: Receiver) -> None:
    receiver.codes = [403]
    with pytest.raises(OSError, match="answered 403"):
        Webhook(target(receiver), first_pause=0.001).write([b"{}"])
    assert len(receiver.bodies) == 1


def test_a_webhook_that_is_not_there_costs_its_events(receiver: Receiver) -> None:
    gone = target(receiver)
    receiver.server_close()
    webhook = Webhook(gone, first_pause=0.001)
    webhook.put(b"{}")
    webhook.close(60)
    assert webhook.dropped == 1
