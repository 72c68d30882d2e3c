"""Continue tokens of searches: behind which object to go on, signed for the tenant that was asked
and the question."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable
from typing import NamedTuple

import orjson

from apiserver.errors import BadRequest
from apiserver.search.question import Question
from apiserver.storage.interface import ObjectKey

_SIGNED = 16


class Place(NamedTuple):
    """tenant: the name of the one to go on in, "" for the one that is asked; key: of the object
    that was looked at last."""

    tenant: str
    key: ObjectKey


class Tokens(NamedTuple):
    """sign: keyed hash of the installation; tenant: number of the one that is asked."""

    sign: Callable[[bytes], bytes]
    tenant: int
    question: Question

    def encode(self, place: Place) -> str:
        text = orjson.dumps([place.tenant, *place.key])
        return base64.urlsafe_b64encode(self._signature(text) + text).decode().rstrip("=")

    def decode(self, token: str) -> Place:
        """Raises BadRequest."""
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise _invalid() from None
        signature, text = raw[:_SIGNED], raw[_SIGNED:]
        if not hmac.compare_digest(signature, self._signature(text)):
            raise _invalid()
        tenant, *key = orjson.loads(text)
        return Place(tenant, ObjectKey(*key))

    def _signature(self, text: bytes) -> bytes:
        bound = f"search\0{self.tenant}\0{self.question.digest}\0".encode()
        return self.sign(bound + text)[:_SIGNED].ljust(_SIGNED, b"\0")


def _invalid() -> BadRequest:
    return BadRequest("invalid continue token: it was not issued for this search")
