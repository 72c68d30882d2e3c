"""Pod subresources that store something else than the pod they are sent, and those that need a kubelet, which there is none.

Source: kubernetes ``pkg/registry/core/pod/storage``.
"""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import strict
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import ApiError, BadRequest, Conflict, Invalid, NotFound, PlainError, TooManyRequests, aggregate
from apiserver.fielderrors import FieldErrors, invalid, not_supported, required
from apiserver.kinds.base import Object
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.labels import selector_from_object
from apiserver.meta.times import format_time
from apiserver.registry import deletion, reading, update
from apiserver.registry.options import DeleteOptions, WriteOptions, first, parse_int
from apiserver.registry.result import Stored

_PODS, _BINDINGS = GroupResource("", "pods"), GroupResource("", "pods/binding")
_BUDGETS = GroupResource("policy", "poddisruptionbudgets")


def _created() -> Stored:
    return Stored.of_object({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


class BindingView(ResourceView):
    """POST to pods/NAME/binding and to bindings: puts a pod on a node."""

    async def post(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        kind = encode.accepted(self.request, self.scope)
        binding = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        name = binding["metadata"].get("name", "")
        if self.scope.name and name != self.scope.name:
            raise BadRequest("name in URL does not match name in Binding object")
        pods = self.registry.catalog.find(self.scope.tenant, "", "pods")
        assert pods is not None, "pods are built in"
        scope = replace(self.scope, resource=pods, served=pods.versions["v1"], name=name, subresource="binding")
        errors = _target_errors(binding.get("target") or {})
        if errors:
            raise PlainError(aggregate([str(e) for e in errors]))

        async def change(old: Object | None) -> Object:
            assert old is not None, "the update loop answers 404 for subresources of absent objects"
            return _bound(old, binding, format_time(self.scope.now))

        wanted = update.Request(manager=self.manager(options), dry_run=options.dry_run, managed=True)
        await update.update(self.registry, scope, change, wanted)
        return encode.object_response(self.request, self.scope, kind, _created(), 201)


def _target_errors(target: Object) -> FieldErrors:
    errors: FieldErrors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def _bound(old: Object, binding: Object, now: str) -> Object:
    pod = update.copy_of(old)
    metadata, spec, name = pod["metadata"], pod["spec"], pod["metadata"]["name"]
    node = binding["target"]["name"]
    if metadata.get("deletionTimestamp"):
        raise Conflict(_BINDINGS, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise Conflict(_BINDINGS, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise Conflict(_BINDINGS, name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = node
    given = binding["metadata"]
    for member in ("annotations", "labels"):
        if given.get(member):
            metadata[member] = {**(metadata.get(member) or {}), **given[member]}
    if given.get("uid"):
        metadata["uid"] = given["uid"]
    conditions = [c for c in pod.setdefault("status", {}).get("conditions") or () if c.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    pod["status"]["conditions"] = [*conditions, scheduled]
    return pod


class EvictionView(ResourceView):
    """POST to pods/NAME/eviction: a delete that respects disruption budgets."""

    async def post(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        kind = encode.accepted(self.request, self.scope)
        eviction = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        if eviction["metadata"].get("name", "") != self.scope.name:
            raise BadRequest("name in URL does not match name in Eviction object")
        wanted = DeleteOptions.from_body(eviction.get("deleteOptions") or {})
        if options.dry_run:
            wanted.dry_run_values = ("All",)
        scope = replace(self.scope, subresource="")
        pod = (await reading.get(self.registry, scope)).object
        if not _ignores_budgets(pod):
            await self._respect_budgets(pod)
        await deletion.delete(self.registry, scope, wanted)
        return encode.object_response(self.request, self.scope, kind, _created(), 201)

    async def _respect_budgets(self, pod: Object) -> None:
        lookup = self.registry.lookup(self.scope.tenant)
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            b
            for b in await lookup.list(_BUDGETS, self.scope.namespace)
            if b["spec"].get("selector") is not None and selector_from_object(b["spec"]["selector"]).matches(labels)
        ]
        if len(budgets) > 1:
            text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(text, code=500, reason="InternalError")
        for budget in budgets:
            self._check(budget)

    def _check(self, budget: Object) -> None:
        status, metadata = budget.get("status", {}), budget["metadata"]
        name = metadata["name"]
        if status.get("observedGeneration", 0) < metadata.get("generation", 0):
            raise _refused(f"The disruption budget {name} is still being processed by the server.", retry_after=10)
        if status.get("disruptionsAllowed", 0) <= 0:
            needed, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
            raise _refused(f"The disruption budget {name} needs {needed} healthy pods and has {has} currently")


def _refused(cause: str, retry_after: int = 0) -> ApiError:
    error = TooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retry_after)
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry_after:
        error.details["retryAfterSeconds"] = retry_after
    return error


def _ignores_budgets(pod: Object) -> bool:
    """Pods that do not run, or have finished, disturb nobody."""
    return pod.get("status", {}).get("phase") in ("Pending", "Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


class LogView(ResourceView):
    """GET pods/NAME/log: there is no kubelet, so a pod has no log; what is wrong with the question is still said."""

    async def get(self) -> HttpResponseBase | None:
        pod = (await reading.get(self.registry, replace(self.scope, subresource=""))).object
        errors = self._option_errors()
        if errors:
            raise Invalid(GroupKind("", "PodLogOptions"), self.scope.name, errors)
        container_of(pod, first(self.request.query, "container"))
        if not pod["spec"].get("nodeName"):
            return HttpResponse(status=204)
        raise NotFound(GroupResource("", "nodes"), pod["spec"]["nodeName"])

    def _option_errors(self) -> FieldErrors:
        errors: FieldErrors = []
        for name, least in (("tailLines", 0), ("limitBytes", 1), ("sinceSeconds", 1)):
            text = first(self.request.query, name)
            if text and parse_int(text) < least:
                bound = "greater than or equal to 0" if least == 0 else "greater than 0"
                errors.append(invalid(name, parse_int(text), f"must be {bound}"))
        return errors


def container_of(pod: Object, name: str) -> str:
    """The container that a question is about. Raises BadRequest."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    regular = [c["name"] for c in spec.get("containers") or ()]
    others = [c["name"] for member in ("initContainers", "ephemeralContainers") for c in spec.get(member) or ()]
    if name:
        if name not in regular and name not in others:
            raise BadRequest(f"container {name} is not valid for pod {pod_name}")
        return name
    annotated = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container", "")
    if annotated in regular:
        return str(annotated)
    if len(regular) > 1:
        raise BadRequest(f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(regular)}]")
    return str(regular[0]) if regular else ""


class ConnectView(ResourceView):
    """exec, attach, portforward and proxy: they need a node that runs the pod."""

    async def _connect(self) -> HttpResponseBase | None:
        pod = (await reading.get(self.registry, replace(self.scope, subresource=""))).object
        if self.scope.resource.group_resource == _PODS and self.scope.subresource in ("exec", "attach"):
            container_of(pod, first(self.request.query, "container"))
        if self.scope.resource.group_resource == _PODS and not pod["spec"].get("nodeName"):
            raise BadRequest(f"pod {self.scope.name} does not have a host assigned")
        raise NotFound(GroupResource("", "nodes"), pod.get("spec", {}).get("nodeName", self.scope.name))

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
