"""What happens to an object's JSON between the store and the tables: nothing, until a resource is
configured to be encrypted.

The tables want JSON, so an encoded object must be JSON text too (a string, for ciphertext).
"""

from __future__ import annotations

from typing import Protocol

from apiserver.storage.interface import ObjectKey


class Transformer(Protocol):
    """``tenant`` and ``key`` are for use as authenticated data: a ciphertext moved to another key
    must not decode."""

    def encode(self, tenant: int, key: ObjectKey, data: bytes) -> bytes: ...

    def decode(self, tenant: int, key: ObjectKey, data: bytes) -> bytes: ...


class Identity:
    """Stores what it is given."""

    def encode(self, tenant: int, key: ObjectKey, data: bytes) -> bytes:
        return data

    def decode(self, tenant: int, key: ObjectKey, data: bytes) -> bytes:
        return data
