"""A batch of writes as one call of `pp_commit`, and each write's own outcome out of its rows. No
policy: no retries, no batching."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from apiserver.storage.call import BIGINT, BIGINTS, BOOLEAN, BOOLEANS, TEXT, TEXTS, function
from apiserver.storage.errors import (
    Claimed,
    InvalidText,
    KeyExists,
    KeyMissing,
    NeedMissing,
    ObjectTooLarge,
    QuotaExceeded,
    RateExceeded,
    Stale,
    StorageError,
    TenantGone,
)
from apiserver.storage.interface import Entry, Event, EventType, Record, Write
from apiserver.storage.pool import Connection

_COMMIT = function(
    "pp_commit",
    "status, version, before, current",
    BIGINT,
    *(TEXTS,) * 7,  # operation, the key's four parts, uid, text
    BIGINTS,  # expected
    *(TEXTS,) * 2,  # owners, finalizers
    BOOLEANS,  # deleting
    *(TEXTS,) * 5,  # claims, needs, audit, its user and verb
    BIGINTS,  # its code
)
_REHEARSE = function(
    "pp_rehearse",
    "status, version, before, current",
    BIGINT,
    *(TEXT,) * 5,  # operation, the key's four parts
    BIGINT,  # bytes of the text
    BOOLEAN,  # deleting
)
OPERATIONS = {"create": b"A", "update": b"M", "delete": b"D"}
EVENT_TYPES: dict[str, EventType] = {"create": "ADDED", "update": "MODIFIED", "delete": "DELETED"}
MAX_OBJECT = 4 * 2**20
"""Bytes of an object's JSON as it is stored, defaults and managers included: more than a request
can bring (3 MiB)."""
_LOG_RETRY = 15  # seconds; by then a log that is over its budget has been looked at (compact.py)
_NUL = re.compile(rb"\x00|(?<!\\)(?:\\\\)*\\u0000")

SERVER = "system:apiserver"
"""Who writes when nobody else is named."""

Outcome = Event | StorageError


class Prepared(NamedTuple):
    """A write and the text that the tables get, made once: an encryption differs each time."""

    write: Write
    stored: bytes


def check_size(write: Write) -> None:
    """Raises ObjectTooLarge. What is there can always be deleted."""
    if len(write.data) > MAX_OBJECT and write.operation != "delete":
        raise ObjectTooLarge(len(write.data), MAX_OBJECT)


def check_text(write: Write) -> None:
    """jsonb has no NUL, neither plain nor as an escape; keys must be encodable. Raises
    InvalidText."""
    try:
        "".join(write.key).encode()
    except UnicodeEncodeError as error:
        raise InvalidText("the object's key is no Unicode text") from error
    if (b"\x00" in write.data or b"u0000" in write.data) and _NUL.search(write.data):
        raise InvalidText("the object contains a NUL character (\\u0000), which cannot be stored")


async def commit(connection: Connection, tenant: int, batch: Sequence[Prepared]) -> list[Outcome]:
    """One transaction: what was committed, and why the others were not, in the order of ``batch``.
    Raises psycopg's errors."""
    rows = await _COMMIT.rows(connection, *_parameters(tenant, batch))
    return [_outcome(item.write, *row) for item, row in zip(batch, rows, strict=True)]


async def rehearse(connection: Connection, tenant: int, item: Prepared) -> Outcome:
    """What `commit` would say of a write that is alone, by the tenant's limits as they are now;
    nothing is locked or written. Raises psycopg's errors."""
    write, stored = item
    operation = OPERATIONS[write.operation].decode()
    (row,) = await _REHEARSE.rows(
        connection, tenant, operation, *write.key, len(stored), write.deleting
    )
    return _outcome(write, *row)


def _parameters(tenant: int, batch: Sequence[Prepared]) -> list[Any]:
    """An array for each parameter, in the order of `_COMMIT`."""
    return [tenant, *zip(*[_row(tenant, *item) for item in batch], strict=True)]


def _row(tenant: int, write: Write, stored: bytes) -> tuple[Any, ...]:
    key, entry = write.key, _entry(write)
    return (
        OPERATIONS[write.operation],
        key.group.encode(),
        key.resource.encode(),
        key.namespace.encode(),
        key.name.encode(),
        write.uid.encode(),
        stored,
        write.expected,
        _words(write.owner_uids),
        _words(write.finalizers),
        write.deleting,
        _words(tuple(f"{tenant}/{claim}" for claim in write.claims)) if write.claims else None,
        write.needs.encode() or None,
        entry.data or None,
        entry.user.encode(),
        entry.verb.encode(),
        entry.code,
    )


def _entry(write: Write) -> Entry:
    """Nothing changes without one, unless the policy says so."""
    if write.audit is not None:
        return write.audit
    reference = {
        "resource": write.key.resource,
        "namespace": write.key.namespace,
        "name": write.key.name,
        "uid": write.uid,
        "apiGroup": write.key.group,
    }
    if write.subresource:
        reference["subresource"] = write.subresource
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": str(uuid4()),
        "stage": "ResponseComplete",
        "requestURI": "",
        "verb": write.operation,
        "user": {"username": SERVER},
        "objectRef": reference,
        "responseStatus": {"metadata": {}, "code": 200},
        "annotations": {"audit.polyplane.dev/on-behalf-of": write.cause} if write.cause else {},
    }
    return Entry(SERVER, write.operation, 200, json.dumps(event).encode())


def _words(words: tuple[str, ...]) -> bytes | None:
    return json.dumps(words).encode() if words else None


def _outcome(write: Write, status: str, version: int, before: int, current: int) -> Outcome:
    match status:
        case "done":
            record = Record(write.key, write.uid, version, write.data)
            return Event(EVENT_TYPES[write.operation], record, before, current)
        case "exists":
            return KeyExists(write.key.name)
        case "missing":
            return KeyMissing(write.key.name)
        case "stale":
            return Stale(current)
        case "claimed":
            return Claimed(write.key.name)
        case "orphan":
            return NeedMissing(write.needs)
        case "gone":
            return TenantGone("the tenant is gone")
        case "hour" | "log":
            return RateExceeded(status, current, before if status == "hour" else _LOG_RETRY)
    return QuotaExceeded(status, current)
