"""Field indexer: keeps the indexes of declared fields (`apiserver.storage.fields`) behind the log,
as the search index is kept, and beside it (`apiserver.search.indexer`).

Each index goes through the log of its resource on its own, from the beginning when it is declared:
so writers wait for nothing, and nobody has to know which indexes there are. Indexes of one resource
that stand at the same version go on together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import orjson

from apiserver.meta.fieldpaths import indexed, value_at
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.scope import Tenant
from apiserver.storage.fields import Fields, Index, Written
from apiserver.storage.interface import ObjectKey

BATCH, BATCH_BYTES = 500, 2**20
"""Entries of the log in one transaction."""

Values = list[tuple[ObjectKey, str | None]]


async def follow(fields: Fields, tenant: int, batches: int) -> bool:
    """Takes each index of the tenant on by some batches; whether all have reached the end of the
    log. Raises StorageError."""
    done = True
    indexes = await fields.indexes(tenant)
    for _, together in groupby(indexes, lambda i: (i.field.resource, i.indexed)):
        done &= await _take_on(fields, tenant, list(together), batches)
    return done


async def _take_on(fields: Fields, tenant: int, indexes: list[Index], batches: int) -> bool:
    """``indexes``: of one resource, that stand at one version."""
    for _ in range(batches):
        resource, at = indexes[0].field.resource, indexes[0].indexed
        batch = await fields.written(tenant, resource, at, limit=BATCH, max_bytes=BATCH_BYTES)
        if batch.through == at:
            return True
        size = sum(len(w.record.data) for w in batch.written if w.record is not None)
        paths = [index.field.path for index in indexes]
        columns = await by_size(
            Asker(Tenant(tenant, ""), size),
            lambda written=batch.written, paths=paths: _columns(written, paths),  # type: ignore[misc]
        )
        left = []
        for index, values in zip(indexes, columns, strict=True):
            if await fields.index(tenant, index, batch.through, values):
                left.append(index._replace(indexed=batch.through))
        if not left:
            return True  # somebody else sees to them, or nobody wants them any more
        if not batch.more:
            return True
        indexes = left
    return False


def _columns(written: Sequence[Written], paths: Sequence[str]) -> list[Values]:
    """For each path what each object has there, once: what the last entry says that has it."""
    columns: list[dict[ObjectKey, str | None]] = [{} for _ in paths]
    for key, record in written:
        obj = orjson.loads(record.data) if record is not None else {}
        for path, values in zip(paths, columns, strict=True):
            values[key] = indexed(value_at(obj, path)) or None
    return [list(values.items()) for values in columns]
