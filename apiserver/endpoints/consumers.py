"""Watch streams as Channels consumers: chunked HTTP for clients of Kubernetes, WebSocket for
browsers.

A stream ends when its time is up, the client leaves, the server stops, or the client does not read
for a minute. The response waits for the transport, slice by slice (`apiserver.endpoints.outlets`),
so a slow reader holds up nobody but itself; what piles up behind it is bounded by its subscription.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Protocol

from channels.generic.http import AsyncHttpConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from apiserver.codec import negotiate
from apiserver.codec.table import check_include_object
from apiserver.endpoints import disclosure
from apiserver.endpoints.encode import allowed
from apiserver.endpoints.filters import auditing, fairness
from apiserver.endpoints.metrics import EventCount, long_running, watch_listed
from apiserver.endpoints.outlets import SLICE, Outlet
from apiserver.endpoints.request import ApiRequest, Message, Receive, Send
from apiserver.endpoints.respond import common_headers
from apiserver.endpoints.server import Server
from apiserver.endpoints.watch_frames import Frames, Unencodable
from apiserver.endpoints.watchdog import Right
from apiserver.errors import ApiError, Expired, InternalError, TooManyRequests
from apiserver.kinds.apiextensions.conversion import ConversionFailed
from apiserver.registry import selection as selections
from apiserver.registry import watching
from apiserver.registry.offload import ClientGone
from apiserver.registry.options import ListOptions, first
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.translate import too_large
from apiserver.registry.watching import Watching
from apiserver.storage.errors import Compacted, StorageError, TooLarge
from apiserver.watch.entry import WatchEvent
from apiserver.watch.errors import TooSlow, WatchClosed
from apiserver.watch.subscription import Subscription

log = logging.getLogger("polyplane.watch")

MIN_TIMEOUT = 1800
"""Seconds; a watch without timeoutSeconds lasts between one and two of these."""
BOOKMARK_EVERY = 60.0
LAST_BOOKMARK = 2.0
"""Seconds before the end of a watch at which a bookmark says how far it came."""


def _nothing() -> None:
    return None


def _too_old(version: str, error: Compacted) -> Expired:
    return Expired(f"too old resource version: {version} ({error.floor})")


class Batches(Protocol):
    """What is sent to whoever watches. listed: see `Stream`."""

    listed: Callable[[], None]

    def batches(self) -> AsyncGenerator[list[bytes], None]: ...


class Refusal:
    """A watch that ends as it begins. What stands against it once its options have been read is
    told in the stream, as an event (k8s.io/apiserver ``storage/cacher/cacher.go``, newErrWatcher):
    clients begin anew without taking it for a failure."""

    def __init__(self, frame: bytes) -> None:
        self.listed: Callable[[], None] = _nothing
        self._frame = frame

    async def batches(self) -> AsyncGenerator[list[bytes], None]:
        yield [self._frame]


class Stream:
    """Frames of one watch, independent of the transport. listed: to be called once all that it
    begins with has been sent, where the client has asked to be told."""

    def __init__(
        self,
        server: Server,
        scope: Scope,
        frames: Frames,
        source: Watching,
        timeout: float,
        right: Right,
        begun: Callable[[], None] = _nothing,
    ) -> None:
        self.listed: Callable[[], None] = _nothing
        self._server, self._scope, self._frames, self._source = server, scope, frames, source
        self._right, self._begun = right, begun
        self._deadline = time.monotonic() + timeout
        self._sent = EventCount(
            scope.tenant.id, scope.resource.group, scope.version, scope.resource.resource
        )

    async def batches(self) -> AsyncGenerator[list[bytes], None]:
        """Frames to send; ends when the stream does."""
        with self._server.watchdog.guard(self._right, self._source.subscription):
            async for frames in self._all():
                yield frames

    async def _all(self) -> AsyncGenerator[list[bytes], None]:
        subscription = self._source.subscription
        try:
            while self._source.initial_bookmark and not subscription.synced:
                yield await self._encoded(await subscription.next())
            if self._source.initial_bookmark:
                yield [
                    self._frames.bookmark(
                        max(subscription.start, self._source.not_before), initial=True
                    )
                ]
                self.listed()
            async for frames in self._changes(subscription):
                yield frames
        except Compacted as e:
            yield [self._frames.error(_too_old(str(subscription.position()), e))]
        except TooSlow as e:
            log.info("watch of %s dropped: %s", self._scope.resource.resource, e)
        except (WatchClosed, Unencodable):
            return
        except (StorageError, ConversionFailed) as e:
            yield [self._frames.error(InternalError(str(e)))]
        except ApiError as e:
            yield [self._frames.error(e)]
        finally:
            subscription.cancel()

    async def _changes(self, subscription: Subscription) -> AsyncGenerator[list[bytes], None]:
        # spread, not secrecy
        next_bookmark = self._next_bookmark(BOOKMARK_EVERY * random.uniform(0.9, 1.0))  # noqa: S311
        beginning = True
        while not self._server.stopping:
            now = time.monotonic()
            if now >= self._deadline:
                break
            if beginning and subscription.synced:
                beginning = False
                self._begun()
            frames = await self._encoded(
                await subscription.next(max(min(self._deadline, next_bookmark) - now, 0.001))
            )
            if frames:
                yield frames
            if time.monotonic() >= next_bookmark:
                next_bookmark = self._next_bookmark(BOOKMARK_EVERY)
                # what the client knows already is no news; nor is a bookmark that overtakes events
                # which wait to be sent
                if self._source.bookmarks and subscription.position() > self._source.not_before:
                    yield [self._frames.bookmark(subscription.position())]

    def _next_bookmark(self, seconds: float) -> float:
        """In so many seconds, or shortly before the end, whichever is sooner and still to come."""
        now, last = time.monotonic(), self._deadline - LAST_BOOKMARK
        return min(now + seconds, last) if last > now else now + seconds

    async def _encoded(self, events: Sequence[WatchEvent]) -> list[bytes]:
        """Raises ConversionFailed, and ApiError where a filter cannot be asked."""
        if self._source.events is not None and events:
            events = await self._source.events.events(events)
        if events:
            self._sent.add(len(events))
        return [self._frames.event(e) for e in events]


async def open_stream(
    server: Server, request: ApiRequest, scope: Scope, options: ListOptions, selection: Selection
) -> tuple[Batches, str]:
    """(stream, its Content-Type). Raises ApiError before anything is sent."""
    accept = request.header(b"accept")
    if scope.resource.has_routes:
        negotiate.check_route(accept, lists=True)
    kind = negotiate.negotiate_stream(accept, allowed(scope), negotiate.ALL)
    disclosure.note(request, scope.resource, kind)
    include = (
        check_include_object(first(request.query, "includeObject"))
        if kind.convert is not None and kind.convert.kind == "Table"
        else ""
    )
    if server.stopping:
        raise TooManyRequests("the server is shutting down", 1)
    # spread, not secrecy
    timeout = float(options.timeout_seconds or 0)
    timeout = timeout or MIN_TIMEOUT * random.uniform(1, 2)  # noqa: S311
    frames = Frames(server.registry, scope, kind, include)
    try:
        source = await watching.watch(server.registry, scope, options, selection)
    except (Compacted, TooLarge) as e:
        auditing.started(server, request)
        version = options.resource_version
        error = (
            _too_old(version, e) if isinstance(e, Compacted) else too_large(int(version), e.current)
        )
        return Refusal(frames.error(error)), kind.stream_type
    auditing.started(server, request)
    right = Right(request.tenant.name, request.tenant.id, request.secret)
    begun = partial(fairness.leave, request)
    return Stream(server, scope, frames, source, timeout, right, begun), kind.stream_type


class WatchConsumer(AsyncHttpConsumer):  # type: ignore[misc]  # Channels has no types
    """Sends a Stream as chunked HTTP."""

    def __init__(
        self, stream: Batches, request: ApiRequest, content_type: str, outlet: Outlet
    ) -> None:
        super().__init__()
        self._stream, self._request, self._content_type, self._outlet = (
            stream,
            request,
            content_type,
            outlet,
        )
        self._writing: asyncio.Task[None] | None = None

    async def http_request(self, message: Message) -> None:
        """The body of a GET is of no interest; streaming begins, while disconnects still arrive
        here."""
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
            self._writing.add_done_callback(lambda _: self._finished.set())

    async def http_disconnect(self, message: Message) -> None:
        if self._writing is not None:
            self._writing.cancel()
        self._finished.set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Channels' own dispatch ends only with the connection; this one ends with the stream as
        well."""
        self.scope, self.base_send = scope, self._outlet.send
        self._finished = asyncio.Event()
        await self.http_request({"type": "http.request"})
        reading = asyncio.create_task(self._read(receive))
        try:
            await self._finished.wait()
        finally:
            reading.cancel()
            if self._writing is not None:
                self._writing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._writing

    async def _read(self, receive: Receive) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                await self.http_disconnect(message)
                return

    async def _write(self) -> None:
        headers = [(b"content-type", self._content_type.encode()), *common_headers(self._request)]
        try:
            await self.send_headers(status=200, headers=headers)
            await self.send_body(b"", more_body=True)
            await self._write_events()
            await self.send_body(b"", more_body=False)
        except ClientGone:
            return

    async def _write_events(self) -> None:
        try:
            async with contextlib.aclosing(self._stream.batches()) as batches:
                async for frames in batches:
                    body = b"".join(frames)
                    for at in range(0, len(body), SLICE):
                        await self.send_body(body[at : at + SLICE], more_body=True)
        except ClientGone:
            raise
        except Exception:
            log.exception(
                "watch %s broke: audit-id=%s", self._request.path, self._request.logged_audit_id
            )


async def serve_watch(
    server: Server,
    request: ApiRequest,
    scope: Scope,
    options: ListOptions,
    selection: Selection,
    send: Send,
) -> None:
    stream, content_type = await open_stream(server, request, scope, options, selection)
    namespace = selection.fields.exact("metadata.namespace") or ""
    stream.listed = partial(watch_listed, request, namespace)
    with long_running(request):
        outlet = server.outlets.open(request.tenant, send)
        consumer = WatchConsumer.as_asgi(
            stream=stream, request=request, content_type=content_type, outlet=outlet
        )
        await consumer(request.scope, request.receive, send)


class WatchSocket(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """Sends a Stream as WebSocket messages, one event each."""

    def __init__(self, stream: Batches, protocol: str | None) -> None:
        super().__init__()
        self._stream, self._protocol = stream, protocol
        self._writing: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept(self._protocol)
        self._writing = asyncio.create_task(self._write())

    async def disconnect(self, code: int) -> None:
        if self._writing is not None:
            self._writing.cancel()

    async def _write(self) -> None:
        with contextlib.suppress(ClientGone):
            async with contextlib.aclosing(self._stream.batches()) as batches:
                async for frames in batches:
                    frames.reverse()
                    # a message goes out whole: no other copy of a large one is kept while it waits
                    while frames:
                        await self.send(text_data=frames.pop()[:-1].decode())
            await self.close()


async def watch_socket(
    server: Server, request: ApiRequest, scope: Scope, receive: Receive, send: Send
) -> None:
    """A watch over WebSocket: the same URL and query, JSON only. Raises ApiError before the socket
    is accepted."""
    offered = [p.strip() for p in request.header(b"sec-websocket-protocol").split(",") if p.strip()]
    protocol = next((p for p in offered if not p.startswith("base64url.bearer.")), None)
    request.raw_headers[b"accept"] = negotiate.JSON.encode()
    options = ListOptions.parse(request.query)
    chosen = selections.parse(scope.resource, scope.version, options)
    stream, _ = await open_stream(server, request, scope, options, chosen)
    with long_running(request):
        consumer = WatchSocket.as_asgi(stream=stream, protocol=protocol)
        await consumer(request.scope, receive, server.outlets.open(request.tenant, send).send)
