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
from apiserver.meta.newest import Newest
from apiserver.user import AUTHENTICATED, UNAUTHENTICATED, User, authenticated

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
        shared = tuple(a for a in audiences if a in (reviewed.audiences or implicit))
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
            reviewed = _read(answer)
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


def _read(answer: bytes) -> Reviewed:
    """Raises AskError for what is no TokenReview."""
    try:
        review = orjson.loads(answer)
        status = review["status"] if review.get("kind") == "TokenReview" else None
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        status = None
    if not isinstance(status, dict):
        raise AskError("the webhook's answer is no TokenReview")
    said, why = status.get("audiences") or [], status.get("error") or ""
    audiences = tuple(a for a in said if isinstance(a, str)) if isinstance(said, list) else ()
    if status.get("authenticated") is not True:
        return Reviewed(None, audiences, why if isinstance(why, str) else "")
    return Reviewed(_user(status.get("user")), audiences)


def _user(info: Any) -> User:
    """Raises AskError."""
    info = info if isinstance(info, dict) else {}
    name, uid = info.get("username"), info.get("uid") or ""
    groups, extra = info.get("groups") or [], info.get("extra") or {}
    good = (
        isinstance(name, str)
        and bool(name)
        and isinstance(uid, str)
        and _are_texts(groups)
        and isinstance(extra, dict)
        and all(_are_texts(values) for values in extra.values())
    )
    if not good:
        raise AskError("the webhook's answer names no user")
    if AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = authenticated(groups)
    held = {key: tuple(values) for key, values in extra.items()}
    return User(name, uid, tuple(groups), held, everywhere=True)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
