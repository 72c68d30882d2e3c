"""componentstatuses: made up on the fly, never stored. Its one component is the database, under the
name that clients know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from django.http.response import HttpResponseBase

from apiserver.endpoints import encode
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import MethodNotAllowed, NotFound
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.options import ListOptions
from apiserver.registry.reading import Listing
from apiserver.registry.result import Stored
from apiserver.registry.selection import parse
from apiserver.storage.errors import StorageError

_NAME = "etcd-0"


@dataclass(frozen=True, slots=True)
class _Item:
    json: bytes


class ComponentStatusView(ResourceView):
    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        if not self.scope.name:
            options = ListOptions.parse(self.request.query)
            selection = parse(self.scope.resource, self.scope.version, options)
            if options.watch:
                raise MethodNotAllowed(self.scope.resource.group_resource, "watch")
            options.check_unasked("componentstatuses")
            items = [_Item(orjson.dumps(await self._status()))]
            if not selection.matches({}, {"metadata.name": _NAME, "metadata.namespace": ""}):
                items = []
            listing: Any = Listing(items, 0)
            return encode.list_response(self.request, self.registry, self.scope, kind, listing)
        if self.scope.name != _NAME:
            raise NotFound(GroupResource("", "componentstatus"), self.scope.name)
        return encode.object_response(
            self.request, self.scope, kind, Stored.of_object(await self._status())
        )

    async def _status(self) -> Object:
        try:
            await self.registry.store.head(self.scope.tenant.id)
            healthy, message = "True", "ok"
        except StorageError as e:
            healthy, message = "False", str(e)
        condition = {"type": "Healthy", "status": healthy, "message": message}
        return {
            "kind": "ComponentStatus",
            "apiVersion": "v1",
            "metadata": {"name": _NAME},
            "conditions": [condition],
        }
