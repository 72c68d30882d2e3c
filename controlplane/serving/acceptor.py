"""Accepts connections and opens TLS on them, a few per turn of the event loop.

uvloop's own server accepts as long as somebody waits and begins every handshake at once: it cannot
look at an address first, and hundreds of clients that connect together hold up every request. Here
a connection first gets a place (`connections`), then waits until its client has said all of a
ClientHello, and only some handshakes are under way together: a client that does not speak, or does
not come to an end, costs a descriptor and nothing else. Who came last has his turn first, because
he is the one who still waits when a flood has been there for some time.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import socket
import ssl
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

from controlplane.serving.connections import Connections, Seat

log = logging.getLogger("polyplane.serving")

_ACCEPTS = 4
"""In one turn of the event loop; few, so that the workers which share the listener share its
clients."""
_STARTS = 2
"""Handshakes begun in one turn; each takes about half a millisecond of the processor."""
_HANDSHAKES = 128
"""Under way at once: their clients can finish them all in the same turn, which takes 0.1 ms
each."""
_SLOW = 1.0
"""Seconds after which a handshake makes way for another."""
_LOOK_AGAIN = 0.02, 1.0
"""Seconds after which half a ClientHello is looked at again: at first, and at most, when they have
doubled."""
_LONGEST_RECORD = 16 * 1024 + 5
_PAUSE = 0.5
"""Seconds without accepting when the system has no descriptor or memory left."""
_PLAIN_HTTP = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"PATC", b"OPTI", b"CONN")
_TLS_HANDSHAKE = b"\x16"  # the first byte of every TLS connection (RFC 8446, 5.1)

Factory = Callable[[Seat], asyncio.Protocol]


class Acceptor:
    """Accepts on ``listener`` from `start` to `close`; the protocol that ``factory`` makes gets
    what TLS decrypts. ``tenant``: whose port it is, "" for that of all."""

    def __init__(
        self,
        listener: socket.socket,
        context: ssl.SSLContext,
        connections: Connections,
        factory: Factory,
        tenant: str = "",
    ) -> None:
        self._tenant = tenant
        self._listener, self._context = listener, context
        self._connections, self._factory = connections, factory
        self._loop = asyncio.get_running_loop()
        self._silent: dict[Seat, socket.socket] = {}
        self._speaking: list[tuple[Seat, socket.socket]] = []
        self._handshakes: dict[asyncio.Task[None], Seat] = {}
        self._pumping = self._closed = False

    def start(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Nobody else is let in; whoever has not spoken TLS yet has to go. As asyncio.Server's."""
        self._closed = True
        self._loop.remove_reader(self._listener)
        for seat in [
            *self._silent,
            *(seat for seat, _ in self._speaking),
            *self._handshakes.values(),
        ]:
            self._connections.leave(seat)
            seat.end()

    async def wait_closed(self) -> None:
        """As asyncio.Server's."""

    def _accept(self) -> None:
        for _ in range(_ACCEPTS):
            try:
                sock, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return  # another worker was quicker, or the client has gone
            except OSError as e:
                log.warning("cannot accept connections: %s", e.strerror)
                self._connections.make_room()
                self._loop.remove_reader(
                    self._listener
                )  # the listener stays readable: without a pause this would spin
                self._loop.call_later(_PAUSE, self.start)
                return
            seat = self._connections.admit(peer[0])
            if seat is None:
                sock.close()
            else:
                seat.tenant = self._tenant
                self._expect(seat, sock)

    def _expect(self, seat: Seat, sock: socket.socket) -> None:
        """Waits for the client's first byte."""
        sock.setblocking(False)
        self._silent[seat] = sock
        seat.end = lambda: self._drop(seat)
        self._loop.add_reader(sock, self._first_byte, seat)

    def _drop(self, seat: Seat) -> None:
        sock = self._silent.pop(seat, None)
        if sock is not None:
            self._loop.remove_reader(sock)
            sock.close()

    def _first_byte(self, seat: Seat) -> None:
        self._loop.remove_reader(self._silent[seat])
        self._listen(seat, _LOOK_AGAIN[0])

    def _listen(self, seat: Seat, again: float) -> None:
        """Begins the handshake once the client has said what it begins with; looks again in
        ``again`` seconds until then."""
        sock = self._silent.get(seat)
        if sock is None:
            return  # ended meanwhile
        try:
            head = sock.recv(5, socket.MSG_PEEK)
            size = 5 + int.from_bytes(head[3:5])
            if (
                head[:1] == _TLS_HANDSHAKE
                and size <= _LONGEST_RECORD
                and not (len(head) == 5 and _readable(sock) >= size)
            ):
                self._loop.call_later(again, self._listen, seat, min(2 * again, _LOOK_AGAIN[1]))
                return
        except OSError:
            head = b""
        del self._silent[seat]
        if head[:1] == _TLS_HANDSHAKE and size <= _LONGEST_RECORD:
            seat.end = sock.close
            self._speaking.append((seat, sock))
            self._pump()
            return
        if head[:4] in _METHODS:  # Go's servers tell those who forgot the s of https
            with suppress(OSError):
                sock.recv(
                    4096
                    # what is unread would make the kernel reset the connection before the answer is
                    # read
                )
                sock.send(_PLAIN_HTTP)
        sock.close()
        self._connections.leave(seat)

    def _pump(self) -> None:
        """Begins some handshakes, and comes back in the next turn for the others."""
        if self._pumping:
            return
        for _ in range(_STARTS):
            if not self._speaking:
                return
            if len(self._handshakes) >= _HANDSHAKES and not self._end_slow():
                self._pumping = True
                self._loop.call_later(_SLOW / 10, self._pump_again)
                return
            seat, sock = self._speaking.pop()
            if sock.fileno() >= 0:
                task = self._loop.create_task(self._open(seat, sock))
                self._handshakes[task] = seat
                task.add_done_callback(self._opened)
        if self._speaking:
            self._pumping = True
            self._loop.call_soon(self._pump_again)

    def _pump_again(self) -> None:
        self._pumping = False
        self._pump()

    def _end_slow(self) -> bool:
        """Whether the handshake that began first has taken long enough to make way for others."""
        task, seat = next(iter(self._handshakes.items()))
        if self._connections.now - seat.since <= _SLOW:
            return False
        del self._handshakes[task]
        self._connections.leave(seat)
        seat.end()
        return True

    async def _open(self, seat: Seat, sock: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        seat.end = lambda: _cancel(task)
        seat.since = self._connections.now
        limits = self._connections.limits
        try:
            await self._loop.connect_accepted_socket(
                lambda: self._factory(seat),
                sock,
                ssl=self._context,
                ssl_handshake_timeout=limits.handshake,
            )
        except (OSError, asyncio.CancelledError):
            # the client left, does not speak our TLS, or took too long: nothing that an operator
            # could do something about
            self._connections.leave(seat)

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a connection could not be opened", exc_info=error)
        if not self._closed:
            self._pump()


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _readable(sock: socket.socket) -> int:
    """Bytes that have come and are not read yet."""
    return int.from_bytes(fcntl.ioctl(sock, termios.FIONREAD, bytes(4)), sys.byteorder)
