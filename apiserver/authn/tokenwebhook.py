"""TokenWebhook: asks a server of the operator's whose a bearer token is, by TokenReview.

Source: k8s.io/apiserver ``plugin/pkg/authenticator/token/webhook``, ``authentication/token/cache``.
Answers are remembered for two minutes, good and bad ones apart, so that tokens that somebody makes
up do not push out those that are good; a failure is not remembered. Who wants to know the same at
the same time asks once, and more than `WAITING` that wait are too many.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.authn import counts
from apiserver.authn.accountclaims import Refused
from apiserver.authn.providers import Unreachable
from apiserver.golang.json import type_name
from apiserver.meta.newest import Newest
from apiserver.meta.objects import Object
from apiserver.user import User, authenticated

REMEMBERED = 120.0
PATIENCE = 30.0
WAITING = 256
LONGEST = 64 * 1024
"""Characters of a token that is worth a question."""
VERSIONS = ("v1", "v1beta1")
_MOST = 4096


class AskError(Exception):
    """No answer. code: of HTTP, 0 without one."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


Ask = Callable[[int, bytes], Awaitable[bytes]]
"""The body of the answer to a question of a tenant (its number). Raises AskError."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """user: None for nobody; audiences: empty where the webhook does not say; why: for whoever
    reviews tokens, or ""."""

    user: User | None
    audiences: tuple[str, ...] = ()
    why: str = ""


class TokenWebhook:
    """remembered: seconds; clock: monotonic seconds."""

    def __init__(
        self,
        ask: Ask,
        clock: Callable[[], float],
        version: str = VERSIONS[0],
        remembered: float = REMEMBERED,
    ) -> None:
        self._ask, self._clock, self._version = ask, clock, version
        self._remembered = remembered
        self._good = Newest[bytes, tuple[float, Reviewed]](_MOST)
        self._bad = Newest[bytes, tuple[float, Reviewed]](_MOST)
        self._asking: dict[bytes, asyncio.Task[Reviewed]] = {}
        self._waiting = 0
        self.problem = ""
        """Why the last question got no answer, or ""."""

    async def review(
        self, tenant: int, token: str, audiences: Sequence[str], implicit: Sequence[str]
    ) -> tuple[User, tuple[str, ...]] | None:
        """Whose the token is, and for which of ``audiences``. ``implicit``: what a token is for of
        which the webhook does not say it. Raises Refused, Unreachable."""
        if len(token) > LONGEST:
            return None
        reviewed = await self._reviewed(tenant, token, audiences)
        shared = tuple(a for a in reviewed.audiences or implicit if a in audiences)
        if not shared:
            return None
        if reviewed.user is None:
            if reviewed.why:
                raise Refused(reviewed.why)
            return None
        return reviewed.user, shared

    async def _reviewed(self, tenant: int, token: str, audiences: Sequence[str]) -> Reviewed:
        place = _place(tenant, token, audiences)
        for kept in (self._good, self._bad):
            remembered = kept.get(place)
            if remembered is not None and self._clock() < remembered[0]:
                kept.move_to_end(place)
                return remembered[1]
        asking = self._asking.get(place)
        if asking is None:
            if self._waiting >= WAITING:
                raise Unreachable("too many tokens are being reviewed")
            asking = asyncio.create_task(self._review(place, tenant, token, audiences))
            asking.add_done_callback(_heard)  # whoever asked may have left
            self._asking[place] = asking
        self._waiting += 1
        try:
            return await asyncio.shield(asking)
        finally:
            self._waiting -= 1

    async def _review(
        self, place: bytes, tenant: int, token: str, audiences: Sequence[str]
    ) -> Reviewed:
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._ask(tenant, self._question(token, audiences))
            reviewed = _read(answer, self._version)
        except (AskError, TimeoutError) as e:
            code = e.code if isinstance(e, AskError) else 0
            counts.asked_webhook(str(code) if code else "<error>")
            self.problem = str(e) or "context deadline exceeded"
            raise Unreachable(self.problem) from None
        finally:
            del self._asking[place]
        counts.asked_webhook("200")
        self.problem = ""
        kept = self._bad if reviewed.user is None else self._good
        kept.keep(place, (self._clock() + self._remembered, reviewed))
        return reviewed

    def _question(self, token: str, audiences: Sequence[str]) -> bytes:
        return orjson.dumps(
            {
                "kind": "TokenReview",
                "apiVersion": f"authentication.k8s.io/{self._version}",
                "metadata": {},
                "spec": {
                    "token": token.encode("utf-8", "replace").decode(),
                    "audiences": list(audiences),
                },
                "status": {"user": {}},
            }
        )


def _heard(asking: asyncio.Task[Reviewed]) -> None:
    if not asking.cancelled():
        asking.exception()


def _place(tenant: int, token: str, audiences: Sequence[str]) -> bytes:
    digest = hashlib.sha256(b"%d\0" % tenant)
    for text in (token, *audiences):
        data = text.encode("utf-8", "surrogateescape")
        digest.update(b"%d\0" % len(data) + data)
    return digest.digest()


def _read(answer: bytes, version: str) -> Reviewed:
    """``version``: of the question; an answer may leave it and its kind out. Raises AskError for
    what is no such TokenReview."""
    try:
        review = orjson.loads(answer)
    except orjson.JSONDecodeError:
        review = None
    named = review if isinstance(review, dict) else {"kind": ""}
    kind, group = (named.get(n, d) for n, d in (("kind", _KIND), ("apiVersion", _GROUP + version)))
    if kind != _KIND or group != _GROUP + version:
        raise AskError(f"the webhook's answer is no TokenReview of {_GROUP}{version}")
    status = _member(named, "status", dict, "TokenReview") or {}
    of = "TokenReviewStatus.status"
    authenticated_ = _member(status, "authenticated", bool, of)
    audiences = _texts(status, "audiences", of)
    why = _member(status, "error", str, of) or ""
    user = _user(_member(status, "user", dict, of) or {}) if authenticated_ else None
    return Reviewed(user, audiences, "" if authenticated_ else why)


def _user(info: Object) -> User:
    """Raises AskError."""
    of = "UserInfo.status.user"
    name, uid = (_member(info, member, str, of) or "" for member in ("username", "uid"))
    groups, extra = _texts(info, "groups", of), _member(info, "extra", dict, of) or {}
    if not name:
        raise AskError("the webhook's answer names no user")
    held = {key: _texts(extra, key, f"{of}.extra") for key in extra}
    return User(name, uid, authenticated(groups, name), held, everywhere=True)


def _texts(of: Object, name: str, path: str) -> tuple[str, ...]:
    values = _member(of, name, list, path) or []
    for value in values:
        if value is not None and not isinstance(value, str):
            raise AskError(_mismatch(value, f"{path}.{name}", str))
    return tuple(value or "" for value in values)


def _member(of: Object, name: str, type_: type, path: str) -> Any:
    """None where it is absent. Raises AskError for one of another type."""
    value = of.get(name)
    if value is None or isinstance(value, type_):
        return value
    raise AskError(_mismatch(value, f"{path}.{name}", type_))


def _mismatch(value: Any, path: str, type_: type) -> str:
    into = f"Go struct field {path} of type {_GO_TYPES[type_]}"
    return f"json: cannot unmarshal {type_name(value)} into {into}"


_KIND, _GROUP = "TokenReview", "authentication.k8s.io/"
_GO_TYPES = {str: "string", bool: "bool", list: "[]string", dict: "object"}
