"""What single objects were when this process last heard of them: those that are written again and
again, of resources that nobody lists or watches here, so that there is no cache of them.

Only a write may begin from such a state, as from a cache: it may be old, then the commit is refused
and the write begins anew from the database (`apiserver.registry.update`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from apiserver.storage.interface import Event, ObjectKey, Record

MOST = 4096
MOST_BYTES = 16 * 2**20
LARGEST = 256 * 1024
"""Bytes of one object: larger ones would take the place of many."""


class Recent:
    """Of all tenants of a process; those that nobody has asked for longest go first."""

    def __init__(self) -> None:
        self._records: OrderedDict[tuple[int, ObjectKey], Record] = OrderedDict()
        self._bytes = 0

    def get(self, tenant: int, key: ObjectKey) -> Record | None:
        record = self._records.get((tenant, key))
        if record is not None:
            self._records.move_to_end((tenant, key))
        return record

    def keep(self, tenant: int, record: Record) -> None:
        """Unless a later state is known."""
        kept = self._records.get((tenant, record.key))
        if kept is not None and kept.resource_version >= record.resource_version:
            return
        self._drop((tenant, record.key))
        if len(record.data) > LARGEST:
            return
        self._records[tenant, record.key] = record
        self._bytes += len(record.data)
        while len(self._records) > MOST or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._records)))

    def follow(self, tenant: int, events: Sequence[Event]) -> None:
        """What was committed, as far as it is about objects that are kept."""
        for event in events:
            record = event.record
            if (tenant, record.key) in self._records:
                if event.type == "DELETED":
                    self._drop((tenant, record.key))
                else:
                    self.keep(tenant, record)

    def forget(self, tenant: int) -> None:
        for key in [key for key in self._records if key[0] == tenant]:
            self._drop(key)

    def _drop(self, key: tuple[int, ObjectKey]) -> None:
        record = self._records.pop(key, None)
        if record is not None:
            self._bytes -= len(record.data)
