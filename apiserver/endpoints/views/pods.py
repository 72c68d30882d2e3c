"""Pod subresources that store something else than the pod they are sent, and those that need a kubelet, which there is none.

What they mean is in apiserver.kinds.core.pod* (pure); here it meets requests and the registry.
Source: kubernetes ``pkg/registry/core/pod/storage``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import strict
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import ApiError, BadRequest, Conflict, Invalid, NotFound, PlainError, aggregate
from apiserver.fielderrors import FieldErrors, not_supported, required
from apiserver.kinds.base import Object
from apiserver.kinds.core import podbinding, podeviction, podstreams
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.registry import deletion, reading, update
from apiserver.registry.options import DeleteOptions, WriteOptions, first, parse_int
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope

_PODS, _NODES = GroupResource("", "pods"), GroupResource("", "nodes")
_BUDGETS = GroupResource("policy", "poddisruptionbudgets")


def _created() -> Stored:
    return Stored.of_object({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


class PodView(ResourceView):
    """Has the pod of its URL, and other objects of its namespace, changed as the registry changes them."""

    def sibling(self, group: str, resource: str, name: str, subresource: str = "") -> Scope:
        found = self.registry.catalog.find(self.scope.tenant, group, resource)
        assert found is not None, f"{resource} are built in"
        served = found.versions[found.storage_version]
        return replace(self.scope, resource=found, served=served, name=name, subresource=subresource)

    async def pod(self) -> Object:
        stored = await reading.get(self.registry, self.sibling("", "pods", self.scope.name))
        found: Object = stored.object
        return found

    async def change(self, scope: Scope, edit: Callable[[Object], Object], options: WriteOptions) -> None:
        async def change(old: Object | None) -> Object:
            assert old is not None, "the update loop answers 404 for subresources of absent objects"
            return edit(old)

        request = update.Request(manager=self.manager(options), dry_run=options.dry_run, managed=True)
        await update.update(self.registry, scope, change, request)


class BindingView(PodView):
    """POST to pods/NAME/binding and to bindings: puts a pod on a node."""

    async def post(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        kind = encode.accepted(self.request, self.scope)
        binding = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        name = binding["metadata"].get("name", "")
        if self.scope.name and name != self.scope.name:
            raise BadRequest("name in URL does not match name in Binding object")
        errors = _target_errors(binding.get("target") or {})
        if errors:
            raise PlainError(aggregate([str(e) for e in errors]))

        def bind(old: Object) -> Object:
            pod = podbinding.assign(old, binding, self.scope.now)
            if uid := binding["metadata"].get("uid"):
                pod["metadata"]["uid"] = uid
            return pod

        await self.change(self.sibling("", "pods", name, "binding"), bind, options)
        return encode.object_response(self.request, self.scope, kind, _created(), 201)


def _target_errors(target: Object) -> FieldErrors:
    errors: FieldErrors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


class EvictionView(PodView):
    """POST to pods/NAME/eviction: a delete that respects disruption budgets."""

    async def post(self) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        eviction = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        if eviction["metadata"].get("name", "") != self.scope.name:
            raise BadRequest("name in URL does not match name in Eviction object")
        wanted = DeleteOptions.from_body(eviction.get("deleteOptions") or {})
        if options.dry_run:
            wanted.dry_run_values = ("All",)
        pod = await self.pod()
        budget = await self._budget(pod)
        charged = podeviction.charge(budget, pod, self.scope.now) if budget is not None else None
        if charged is not None and not wanted.dry_run:
            await self._store_charge(charged, options)
        if podeviction.holds_version(pod, budget):
            wanted.precondition_resource_version, wanted.has_preconditions = pod["metadata"]["resourceVersion"], True
        await self._delete(wanted, budget)
        return encode.object_response(self.request, self.scope, kind, _created(), 201)

    async def _budget(self, pod: Object) -> Object | None:
        """The budget that guards the pod; None for pods that are evicted whatever budgets say."""
        if podeviction.skips_budgets(pod):
            return None
        lookup = self.registry.lookup(self.scope.tenant)
        return podeviction.budget_of(pod, await lookup.list(_BUDGETS, self.scope.namespace))

    async def _store_charge(self, charged: Object, options: WriteOptions) -> None:
        scope = self.sibling("policy", "poddisruptionbudgets", charged["metadata"]["name"], "status")
        await self.change(scope, lambda _: update.copy_of(charged), options)

    async def _delete(self, wanted: DeleteOptions, budget: Object | None) -> None:
        wanted.validate()
        try:
            await deletion.delete(self.registry, self.sibling("", "pods", self.scope.name), wanted)
        except Conflict as e:
            if budget is None:
                raise
            raise podeviction.still_processed(budget["metadata"]["name"]) from e


class LogView(PodView):
    """GET pods/NAME/log: there is no kubelet, so a pod has no log; what is wrong with the question is still said."""

    async def get(self) -> HttpResponseBase | None:
        pod = await self.pod()
        errors = podstreams.log_errors(self._options())
        if errors:
            raise Invalid(GroupKind("", "PodLogOptions"), self.scope.name, errors)
        podstreams.container_of(pod, first(self.request.query, "container"))
        if not pod["spec"].get("nodeName"):
            response = HttpResponse(status=204)
            del response["Content-Type"]
            return response
        raise NotFound(_NODES, pod["spec"]["nodeName"])

    def _options(self) -> Object:
        query = self.request.query
        options: Object = {name: first(query, name) for name in ("sinceTime", "stream") if query.get(name)}
        for name in ("tailLines", "limitBytes", "sinceSeconds"):
            if query.get(name):
                options[name] = parse_int(first(query, name))
        return options


class ConnectView(PodView):
    """exec, attach, portforward and proxy: they need a node that runs the pod."""

    async def _connect(self) -> HttpResponseBase | None:
        if self.scope.resource.group_resource != _PODS:
            await reading.get(self.registry, replace(self.scope, subresource=""))
            raise ApiError(f"no endpoints available for {self.scope.resource.singular} {self.scope.name!r}".replace("'", '"'), code=503)
        pod = await self.pod()
        if self.scope.subresource in ("exec", "attach"):
            podstreams.container_of(pod, first(self.request.query, "container"))
        raise NotFound(_NODES, podstreams.node_of(pod))

    async def get(self) -> HttpResponseBase | None:
        return await self._connect()

    async def post(self) -> HttpResponseBase | None:
        return await self._connect()

    async def put(self) -> HttpResponseBase | None:
        return await self._connect()

    async def patch(self) -> HttpResponseBase | None:
        return await self._connect()

    async def delete(self) -> HttpResponseBase | None:
        return await self._connect()
