"""Calls of the database's functions through which requests read and write: in PostgreSQL's binary
format, and without psycopg's cursors, which cost a worker more than such a call itself.

A call names no prepared statement, so that PgBouncer may stand between in transaction mode. How to
wait, and to cancel what nobody waits for any more, is left to psycopg.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute

_TEXT, _TEXT_ARRAY, _INT8, _INT8_ARRAY, _BOOL, _BOOL_ARRAY = 25, 1009, 20, 1016, 16, 1000
_TIMESTAMPTZ, _TIMESTAMPTZ_ARRAY = 1184, 1185
_EPOCH = 946_684_800
"""PostgreSQL's times begin with the year 2000."""
_length = struct.Struct("!I").pack
_array = struct.Struct("!IIIII").pack
"""The head of an array: its dimensions, whether it has NULLs, of what it is, how long it is, where
it begins."""
_ONE_TEXT = _array(1, 1, _TEXT, 1, 1)
_NULL = b"\xff\xff\xff\xff"
_TRUE, _FALSE = b"\0\0\0\x01\x01", b"\0\0\0\x01\x00"


class Type(NamedTuple):
    """Of a parameter. encode: in PostgreSQL's binary format."""

    oid: int
    encode: Callable[[Any], bytes]


def _bigint(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def _texts(values: Sequence[bytes | None]) -> bytes:
    """From UTF-8 values; None is NULL."""
    if len(values) == 1:  # a write that is alone in its batch has a dozen of these
        (only,) = values
        return _ONE_TEXT + (_NULL if only is None else _length(len(only)) + only)
    head = _array(1, 1, _TEXT, len(values), 1)
    return head + b"".join([_NULL if v is None else _length(len(v)) + v for v in values])


def _bigints(values: Sequence[int | None], of: int = _INT8) -> bytes:
    head = _array(1, 1, of, len(values), 1)
    return head + b"".join(
        [_NULL if v is None else b"\0\0\0\x08" + v.to_bytes(8, "big", signed=True) for v in values]
    )


def _times(values: Sequence[float]) -> bytes:
    """From seconds since 1970."""
    return _bigints([round((v - _EPOCH) * 1e6) for v in values], _TIMESTAMPTZ)


def _booleans(values: Sequence[bool]) -> bytes:
    head = _array(1, 0, _BOOL, len(values), 1)
    return head + b"".join([_TRUE if v else _FALSE for v in values])


BIGINT: Final = Type(_INT8, _bigint)
TEXT: Final = Type(_TEXT, str.encode)
BOOLEAN: Final = Type(_BOOL, lambda value: b"\x01" if value else b"\x00")
BIGINTS: Final = Type(_INT8_ARRAY, _bigints)
TEXTS: Final = Type(_TEXT_ARRAY, _texts)
TIMES: Final = Type(_TIMESTAMPTZ_ARRAY, _times)
BOOLEANS: Final = Type(_BOOL_ARRAY, _booleans)


class Call:
    """``statement`` with parameters $1, $2 ... of those types, each of which may be None."""

    def __init__(self, statement: str, *types: Type) -> None:
        self._statement = statement.encode()
        self._oids = [type_.oid for type_ in types]
        self._encoders = [type_.encode for type_ in types]
        self._formats = [pq.Format.BINARY] * len(types)

    async def rows(
        self, connection: psycopg.AsyncConnection[Any], *values: Any
    ) -> list[tuple[Any, ...]]:
        """All of them. Raises psycopg's errors."""
        parameters = [
            None if value is None else encode(value)
            for encode, value in zip(self._encoders, values, strict=True)
        ]
        async with connection.lock:
            results = await connection.wait(self._run(connection.pgconn, parameters))
        result = results[-1]
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise error_from_result(result)
        transformer = Transformer(connection)
        transformer.set_pgresult(result)
        return transformer.load_rows(0, result.ntuples, tuple)

    def _run(
        self, connection: pq.abc.PGconn, parameters: Sequence[bytes | None]
    ) -> PQGen[list[pq.abc.PGresult]]:
        connection.send_query_params(
            self._statement, parameters, self._oids, self._formats, pq.Format.BINARY
        )
        results: list[pq.abc.PGresult] = yield from execute(connection)
        return results


def function(name: str, columns: str, *types: Type) -> Call:
    """A function that returns a table."""
    places = ", ".join(f"${i}" for i in range(1, len(types) + 1))
    return Call(f"SELECT {columns} FROM {name}({places})", *types)  # noqa: S608  names of ours
