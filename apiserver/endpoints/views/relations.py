"""relations.polyplane.dev/v1: a DependentReview says which objects name one as their owner.

Everybody who is known may ask (apiserver.authorizers.chain), for the answer holds nothing but what
a list would show him: of each resource and namespace in which there are dependents he has to be
allowed to `list`; others are not even counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.authz.attributes import Attributes
from apiserver.endpoints.views.reviews import ReviewView
from apiserver.errors import BadRequest
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.objects import Object, ReadOnlyObject, owner_references_of
from apiserver.registry.offload import by_size
from apiserver.registry.translate import storage_errors
from apiserver.storage.interface import Record

MOST = 500
"""Dependents in one answer."""
MOST_PLACES = 1000
"""Resources in namespaces that one review looks at."""


class DependentReviewView(ReviewView):
    async def _answer(self, review: Object) -> Object:
        uid = review["spec"].get("uid", "")
        if not uid:
            raise BadRequest("spec.uid: Required value")
        tenant, store = self.scope.tenant.id, self.registry.store
        with storage_errors(self.scope):
            candidates = await store.dependent_places(tenant, uid, limit=MOST_PLACES)
            places = [place for place in candidates if await self._may_list(*place)]
            if not places:
                return {**review, "status": {}}
            records = await store.dependents(tenant, uid, places, limit=MOST + 1)
        asker = self.scope.asker(sum(len(record.data) for record in records))
        dependents = await by_size(asker, lambda: _dependents(uid, records[:MOST]))
        incomplete = len(records) > MOST or len(candidates) == MOST_PLACES
        return {**review, "status": {"dependents": dependents, "incomplete": incomplete}}

    async def _may_list(self, resource: GroupResource, namespace: str) -> bool:
        asked = Attributes(
            self.scope.user, "list", resource.group, "*", resource.resource, "", namespace
        )
        return (await self._authorize(asked)).allowed


def _dependents(uid: str, records: Sequence[Record]) -> list[Object]:
    return [_dependent(uid, record, orjson.loads(record.data)) for record in records]


def _dependent(uid: str, record: Record, obj: ReadOnlyObject) -> Object:
    reference = next(o for o in owner_references_of(obj) if o.get("uid") == uid)
    key, metadata = record.key, obj["metadata"]
    members: Object = {
        "group": key.group,
        "version": GroupVersion.parse(obj["apiVersion"]).version,
        "kind": obj["kind"],
        "resource": key.resource,
        "namespace": key.namespace,
        "name": key.name,
        "uid": record.uid,
        "controller": reference.get("controller") is True,
        "blockOwnerDeletion": reference.get("blockOwnerDeletion") is True,
        "deletionTimestamp": metadata.get("deletionTimestamp"),
        "finalizers": metadata.get("finalizers"),
    }
    return {name: value for name, value in members.items() if value}
