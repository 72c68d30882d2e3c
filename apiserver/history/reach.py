"""How far back the tenant's log reaches, as an object: RetainedLog."""

from __future__ import annotations

from apiserver.errors import NotFound
from apiserver.history.visit import Visit
from apiserver.kinds.history.revision import API_VERSION
from apiserver.meta.objects import Object
from apiserver.meta.times import format_micro_time
from apiserver.registry.translate import storage_errors
from apiserver.storage.compact import RETENTION

NAME = "log"
"""A tenant has one."""


async def retained(visit: Visit) -> Object:
    """A RetainedLog. Raises NotFound for another name than `NAME`, StorageError's Status errors."""
    scope = visit.scope
    if scope.name not in ("", NAME):
        raise NotFound(scope.resource.group_resource, scope.name)
    with storage_errors(scope):
        reach = await visit.history.reach(scope.tenant.id)
    retention = RETENTION if reach.retention is None else reach.retention
    return {
        "kind": "RetainedLog",
        "apiVersion": API_VERSION,
        "metadata": {"name": NAME, "resourceVersion": str(reach.newest)},
        **({} if reach.begins is None else {"begins": format_micro_time(reach.begins)}),
        "oldest": str(reach.oldest),
        "newest": str(reach.newest),
        "retentionSeconds": int(retention.total_seconds()),
    }
