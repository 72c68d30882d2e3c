"""The way from the console's pages to the API: ``/admin/api/`` and a path of the API.

A request that comes with a session of the console acts as the account that has logged in, with the
rights that tenants give it: from authentication on it goes the way of all requests. Paths of the
API itself look at no cookie. Cookies are sent by browsers whoever asks them to, so:

- only pages of this very origin may ask (``Sec-Fetch-Site``, or ``Origin`` where a browser sends no
  such header), whatever the method is;
- what is neither GET nor HEAD needs Django's CSRF token in ``X-CSRFToken``, too;
- a page that says whose it is (`PAGE_OF`) is heard only while the session is that account's:
  somebody may have logged in as another in the same browser;
- nothing else may say who asks: a request with ``Authorization`` or ``Impersonate-*`` is refused, a
  client certificate is not looked at;
- what is answered for long ends within seconds after the session has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import CSRFCheck

from apiserver.endpoints.outlets import transport_of
from apiserver.endpoints.request import CLIENT_CERTIFICATE, Message, Receive, Send, raw_path
from apiserver.errors import ApiError, BadRequest, Forbidden, Unauthorized
from apiserver.meta.gvk import GroupResource
from apiserver.user import User
from controlplane.console.sessions import ANOTHERS, PAGE_OF, REMEMBERED, Crowded, Sessions

Application = Callable[[Message, Receive, Send], Awaitable[None]]
Identified = Callable[[User | ApiError, Message, Receive, Send], Awaitable[None]]
"""`apiserver.endpoints.entry.Entry.identified`."""

PREFIX = "/admin/api"
_READING = frozenset({"GET", "HEAD"})
_CHECKED = frozenset({b"host", b"origin", b"referer", b"x-csrftoken"})
"""Headers that say whether a request is our pages'."""
_OURS = frozenset({b"cookie", b"x-csrftoken", PAGE_OF.lower().encode()})
"""Headers that the API has nothing to do with."""
_NOTHING = GroupResource("", "")


class Gateway:
    """Serves what is below `PREFIX`, and leaves all else to the console."""

    def __init__(
        self, console: Application, api: Identified, sessions: Sessions | None = None
    ) -> None:
        self._console, self._api = console, api
        self._sessions = sessions or Sessions()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_ours(scope):
            await self._console(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        key = _cookies(headers).get(settings.SESSION_COOKIE_NAME, "")
        who = await self._who(scope["method"], headers, key)
        answer = _Answer(receive, send)
        guard = asyncio.create_task(self._guard(key, who, answer))
        try:
            await self._api(who, _handed_on(scope), answer.receive, answer.send)
        finally:
            guard.cancel()
            answer.leave()
        await answer.complete()

    async def _who(self, method: str, headers: dict[bytes, bytes], key: str) -> User | ApiError:
        if refusal := _refusal(method, headers):
            return refusal
        try:
            user = await self._sessions.user(key)
        except DatabaseFailure:
            return _unavailable("the database does not answer: try again")
        except Crowded:
            return _unavailable("too many ask who they are: try again")
        if user is None:
            return Unauthorized("the console's session has ended: log in")
        page_of = headers.get(PAGE_OF.lower().encode(), b"").decode("latin-1")
        return Unauthorized(ANOTHERS) if page_of not in ("", user.uid) else user

    async def _guard(self, key: str, who: User | ApiError, answer: _Answer) -> None:
        """An answer goes on as long as the session stands for the same user with the same
        rights in the installation, and while nobody can say so: the next look will."""
        if isinstance(who, ApiError):
            return
        while True:
            await asyncio.sleep(2 * REMEMBERED)
            try:
                gone = await self._sessions.user(key) != who
            except (DatabaseFailure, Crowded):
                continue
            if gone:
                answer.over.set()
                return


class _Answer:
    """One answer and its request's body; ``over`` makes the API believe that the client has
    left."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.transport = transport_of(send)  # `apiserver.endpoints.outlets` looks for it here
        self.over = asyncio.Event()
        self._ending: asyncio.Future[Any] = asyncio.ensure_future(self.over.wait())
        self._reading: asyncio.Future[Any] | None = None
        self._open = False

    async def receive(self) -> Message:
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._receive())
        await asyncio.wait({self._reading, self._ending}, return_when=asyncio.FIRST_COMPLETED)
        if not self._reading.done():
            return {"type": "http.disconnect"}
        reading, self._reading = self._reading, None
        message: Message = reading.result()
        return message

    async def send(self, message: Message) -> None:
        await self._send(message)
        self._open = message["type"] == "http.response.start" or bool(message.get("more_body"))

    def leave(self) -> None:
        self._ending.cancel()
        if self._reading is not None:
            self._reading.cancel()

    async def complete(self) -> None:
        """Where the API has broken off because the session was over, the client sees an end."""
        if self._open and self.over.is_set():
            await self.send({"type": "http.response.body", "body": b""})


def _is_ours(scope: Message) -> bool:
    """By the path as it was sent: what the API is handed on is the rest of that."""
    path = raw_path(scope)
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def _cookies(headers: dict[bytes, bytes]) -> dict[str, str]:
    try:
        parsed = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in parsed.items()}


def _refusal(method: str, headers: dict[bytes, bytes]) -> ApiError | None:
    if b"authorization" in headers:
        return BadRequest(
            "a request by the console's session has no Authorization header: the API's own paths "
            "take tokens"
        )
    if any(name.startswith(b"impersonate-") for name in headers):
        return _forbidden("nobody is impersonated in the console")
    if not _same_origin(headers):
        return _forbidden("only the console's own pages may ask")
    if method not in _READING and (why := _forgery(headers)):
        return _forbidden(why)
    return None


def _unavailable(why: str) -> ApiError:
    return ApiError(why, reason="ServiceUnavailable", code=503)


def _forbidden(why: str) -> Forbidden:
    return Forbidden(_NOTHING, "", why)


def _same_origin(headers: dict[bytes, bytes]) -> bool:
    """Fetch Metadata (W3C); browsers older than that say an origin, at least of what changes
    something. A proxy in front may have another name for us: then browsers know better. They see
    https, whoever has ended TLS; a page by http is anybody's who sits in between."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site == b"same-origin"
    return headers.get(b"origin") == b"https://" + headers.get(b"host", b"")


def _forgery(headers: dict[bytes, bytes]) -> str:
    """What Django says against a request that our pages have not sent, "" for nothing."""
    request = _Sent(headers)
    check = CSRFCheck(lambda _: HttpResponse())
    check.process_request(request)
    return str(check.process_view(request, None, (), {}) or "")


class _Sent(HttpRequest):
    """What Django's check looks at. Browsers see https, whoever has ended TLS."""

    def __init__(self, headers: dict[bytes, bytes]) -> None:
        super().__init__()
        self.method = "POST"  # whatever it is: all but reading is checked
        self.COOKIES = _cookies(headers)
        self.META = {
            f"HTTP_{name.decode().upper().replace('-', '_')}": headers[name].decode("latin-1")
            for name in _CHECKED & headers.keys()
        }

    def _get_scheme(self) -> str:
        return "https"


def _handed_on(scope: Message) -> Message:
    """The request as the API gets it."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    return {
        **scope,
        "path": scope["path"].removeprefix(PREFIX) or "/",
        "raw_path": raw_path(scope).removeprefix(PREFIX).encode("latin-1") or b"/",
        "headers": [(name, value) for name, value in scope["headers"] if name not in _OURS],
        "extensions": {n: v for n, v in extensions.items() if n != CLIENT_CERTIFICATE},
    }
