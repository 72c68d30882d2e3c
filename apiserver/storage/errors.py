"""What storage can say beside success. The registry translates these into Status errors, at one
place."""

from __future__ import annotations


class StorageError(Exception):
    """Base of everything below."""


class KeyExists(StorageError):
    """Create of a key that is there."""


class KeyMissing(StorageError):
    """Update or delete of a key that is not there."""


class Stale(StorageError):
    """Compare-and-swap failed; ``current`` is the stored resourceVersion."""

    def __init__(self, current: int) -> None:
        super().__init__(f"stored resourceVersion is {current}")
        self.current = current


class Claimed(StorageError):
    """Another object of the tenant holds what the write claims."""


class NeedMissing(StorageError):
    """What the object needs is not there, or is being deleted."""


class Compacted(StorageError):
    """The resourceVersion asked for is below the floor."""

    def __init__(self, floor: int) -> None:
        super().__init__(f"compacted below {floor}")
        self.floor = floor


class TooLarge(StorageError):
    """The resourceVersion asked for has not been reached; ``current`` is the head."""

    def __init__(self, current: int) -> None:
        super().__init__(f"head is {current}")
        self.current = current


class QuotaExceeded(StorageError):
    """The tenant is full. ``what`` is "objects", "bytes" or "definitions"; ``limit`` is what the
    write transaction saw."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"tenant is limited to {limit} {what}")
        self.what = what
        self.limit = limit


class RateExceeded(StorageError):
    """The tenant writes too much: later there will be room. ``what`` is "hour" (bytes written
    within one) or "log" (bytes of retained events); ``retry_after``: seconds."""

    def __init__(self, what: str, limit: int, retry_after: int) -> None:
        super().__init__(f"tenant is limited to {limit} bytes ({what})")
        self.what = what
        self.limit = limit
        self.retry_after = retry_after


class ObjectTooLarge(StorageError):
    """An object whose JSON, as it would be stored, has more than ``limit`` bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"object has {size} bytes, limit is {limit}")
        self.size = size
        self.limit = limit


class TenantGone(StorageError):
    """The tenant was deleted or is being deleted."""


class InvalidText(StorageError):
    """The object holds what PostgreSQL cannot store as JSON: a NUL character, half a surrogate
    pair, a number beyond its range."""


class Unavailable(StorageError):
    """The database cannot be reached, or the connection broke; ``unknown`` when a write may have
    been committed."""

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class DiskFull(Unavailable):
    """The database has no room for what is to be written; it can be read."""


class ChainBroken(StorageError):
    """A reader found a gap in the log: always a bug, never ignored."""

    def __init__(self, tenant: int, expected: int, predecessor: int) -> None:
        super().__init__(
            f"tenant {tenant}: event after {expected} names {predecessor} as its predecessor"
        )
