"""Continue tokens of lists of revisions: where to go on, signed for the tenant and the question."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import NamedTuple

import orjson

from apiserver.errors import BadRequest
from apiserver.history.question import Question
from apiserver.history.visit import Visit


class Place(NamedTuple):
    """before: revisions below that one are next; of a list of what there was: at: as of which
    version, and which resource (group, resource) is next, behind which object."""

    before: int = 0
    at: int = 0
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


def encode(visit: Visit, question: Question, place: Place) -> str:
    text = orjson.dumps(list(place))
    return base64.urlsafe_b64encode(_signature(visit, question, text) + text).decode().rstrip("=")


def decode(visit: Visit, question: Question, token: str) -> Place:
    """Raises BadRequest."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _invalid() from None
    signature, text = raw[:_SIGNED], raw[_SIGNED:]
    if not hmac.compare_digest(signature, _signature(visit, question, text)):
        raise _invalid()
    return Place(*orjson.loads(text))


_SIGNED = 16


def _signature(visit: Visit, question: Question, text: bytes) -> bytes:
    scope = visit.scope
    bound = (
        f"revisions\0{scope.tenant.id}\0{scope.resource.resource}\0{scope.namespace}\0{question}"
    )
    return visit.registry.sign(bound.encode() + b"\0" + text)[:_SIGNED].ljust(_SIGNED, b"\0")


def _invalid() -> BadRequest:
    return BadRequest("invalid continue token: it was not issued for this list")
