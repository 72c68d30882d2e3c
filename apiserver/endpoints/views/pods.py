"""Pod subresources that store something else than the pod they are sent, and those that need a
kubelet, which there is none.

What they mean is in apiserver.kinds.core.pod* (pure); here it meets requests and the registry.
Source: kubernetes ``pkg/registry/core/pod/storage``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import negotiate
from apiserver.endpoints import encode
from apiserver.endpoints.filters.authorization import authorize_streams
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.views.base import Handler
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import (
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    PlainError,
    ServiceUnavailable,
    aggregate,
)
from apiserver.fielderrors import FieldErrors, FieldPath, invalid, not_supported, required
from apiserver.kinds.core import podbinding, podeviction, podstreams, proxies
from apiserver.meta import features
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.objects import Object
from apiserver.registry import deletion, mutation, preconditions, reading
from apiserver.registry.changes import Edit
from apiserver.registry.objectmeta import wipe_system_fields
from apiserver.registry.options import (
    UNSAFE,
    DeleteOptions,
    WriteOptions,
    first,
    options_of,
    parse_int,
)
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.update import update
from apiserver.registry.write import Request

_CREATES = "AuthorizePodWebsocketUpgradeCreatePermission"
_PODS = GroupResource("", "pods")
_BUDGETS = GroupResource("policy", "poddisruptionbudgets")
_EVICTIONS = 20
"""How often a pod that no budget guards is evicted while others change it."""
_PAUSE = 0.5
"""Seconds between two tries."""
_CREATED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
"""What answers a binding and an eviction."""


class PodView(ResourceView):
    """Has the pod of its URL, and other objects of its namespace, changed as the registry changes
    them."""

    def sibling(self, group: str, resource: str, name: str, subresource: str = "") -> Scope:
        sibling = self.registry.catalog.find(self.scope.tenant, group, resource)
        assert sibling is not None, f"{resource} are built in"
        served = sibling.versions[sibling.storage_version]
        return replace(
            self.scope, resource=sibling, served=served, name=name, subresource=subresource
        )

    def will_be_created(self) -> None:
        """Tells the audit log that a Status is the answer, if there is no error."""
        if self.scope.trail is not None:
            self.scope.trail.told = _CREATED

    async def pod(self) -> Object:
        return await self.core("pods", self.scope.name)

    async def core(self, resource: str, name: str) -> Object:
        """Of the request's namespace. Raises NotFound."""
        return await self._looked_up(self.sibling("", resource, name))

    async def node(self, name: str) -> Object:
        """Raises NotFound."""
        return await self._looked_up(replace(self.sibling("", "nodes", name), namespace=""))

    async def _looked_up(self, scope: Scope) -> Object:
        """Whatever is missing is named as if it were of the request's own resource
        (``qualifiedResourceFromContext`` of k8s.io/apiserver ``registry/generic/registry``)."""
        try:
            stored = await reading.get(self.registry, scope)
        except NotFound:
            raise NotFound(self.scope.resource.group_resource, scope.name) from None
        obj: Object = stored.object
        return obj

    async def admit(
        self, obj: Object, options: WriteOptions, size: int
    ) -> tuple[Object, Callable[[], Awaitable[None]]]:
        """An object that is posted to a subresource, as mutating admission leaves it, and
        validating admission of that, for when the rest has been checked."""
        attributes = self.registry.attributes(
            self.scope,
            "CREATE",
            self.scope.name or obj["metadata"].get("name", ""),
            obj,
            None,
            dry_run=options.dry_run,
            options=options_of("CreateOptions", options.as_object()),
        )
        asker = self.scope.asker(size)
        obj = await mutation.mutate(self.registry, self.scope, asker, attributes)
        lookup = self.registry.lookup(self.scope.tenant)
        return obj, partial(self.registry.chain.validate, attributes, lookup)

    async def change(
        self, scope: Scope, edit: Callable[[Object], Object], options: WriteOptions
    ) -> Stored:
        async def edited(old: Object) -> Object:
            return edit(old)

        request = Request(self.manager(options), options.dry_run)
        registry = self.registry.unasked()
        return await update(registry, scope, Edit(edited, sets_managers=True), request)


class BindingView(PodView):
    """POST to pods/NAME/binding and to bindings: puts a pod on a node."""

    async def post(self, request: ApiRequest) -> HttpResponseBase | None:
        self.will_be_created()
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        kind = encode.accepted(self.request, self.scope)
        body = await self._body(options)
        if not self.scope.subresource:
            wipe_system_fields(body.object["metadata"])
        binding, validate = await self.admit(body.object, options, body.size)
        name = binding["metadata"].get("name", "")
        if self.scope.name and name != self.scope.name:
            raise BadRequest("name in URL does not match name in Binding object")
        errors = _target_errors(binding.get("target") or {})
        if errors:
            raise PlainError(aggregate([str(e) for e in errors]))
        await validate()

        scope = self.sibling("", "pods", name, "binding")

        def bind(old: Object) -> Object:
            expected = binding["metadata"]
            preconditions.check_record(scope, expected, old, dry_run=options.dry_run)
            return podbinding.assign(old, binding, self.scope.now)

        await self.change(scope, bind, options)
        return encode.object_response(
            self.request, self.scope, kind, Stored.of_object(_CREATED), 201
        )


def _target_errors(target: Object) -> FieldErrors:
    errors: FieldErrors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


class _Changed(Exception):
    """Somebody changed the pod while it was being evicted."""

    def __init__(self, conflict: Conflict) -> None:
        super().__init__()
        self.conflict = conflict


def _dry_run(asked: Sequence[str], held: Sequence[str]) -> tuple[str, ...]:
    """What the query says of a dry run and what the eviction says. Raises PlainError where they
    disagree."""
    if asked and held and list(asked) != list(held):
        both = " and ".join(f"[{' '.join(said)}]" for said in (asked, held))
        raise PlainError(f"Non-matching dry-run options in request and content: {both}")
    return tuple(held or asked)


class EvictionView(PodView):
    """POST to pods/NAME/eviction: a delete that respects disruption budgets."""

    async def post(self, request: ApiRequest) -> HttpResponseBase | None:
        self.will_be_created()
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        body = await self._body(options)
        wipe_system_fields(body.object["metadata"])
        eviction, validate = await self.admit(body.object, options, body.size)
        if eviction["metadata"].get("name", "") != self.scope.name:
            raise BadRequest("name in URL does not match name in Eviction object")
        delete_options = DeleteOptions.from_body(eviction.get("deleteOptions") or {})
        if delete_options.unsafe:
            why = "can not be set for pod eviction, try after removing the option"
            wrong = [invalid(FieldPath("deleteOptions").child(UNSAFE), True, why)]
            raise Invalid(GroupKind("policy", "Eviction"), self.scope.name, wrong)
        delete_options.dry_run_values = _dry_run(
            self.request.query.get("dryRun", ()), delete_options.dry_run_values
        )
        await validate()
        for attempt in range(_EVICTIONS):
            try:
                await self._evict(delete_options, options)
                break
            except _Changed as e:
                if attempt == _EVICTIONS - 1:
                    raise e.conflict from None
                await asyncio.sleep(_PAUSE)
        return encode.object_response(
            self.request, self.scope, kind, Stored.of_object(_CREATED), 201
        )

    async def _evict(self, asked_for: DeleteOptions, options: WriteOptions) -> None:
        """Raises _Changed where another try may succeed: the pod is guarded by nothing, and has
        changed since it was read."""
        delete_options = replace(asked_for)
        pod = await self.pod()
        budget = await self._budget(pod)
        charged = podeviction.charge(budget, pod, self.scope.now) if budget is not None else None
        if charged is not None and not delete_options.dry_run:
            await self._store_charge(charged["metadata"]["name"], pod, options)
        asked = delete_options.precondition_resource_version is not None
        if podeviction.holds_version(pod, budget) and not asked:
            delete_options.precondition_resource_version, delete_options.has_preconditions = (
                pod["metadata"]["resourceVersion"],
                True,
            )
        try:
            await self._delete(delete_options, None if asked else budget, options)
        except Conflict as e:
            other = asked_for.precondition_uid not in (None, pod["metadata"]["uid"])
            if asked or other or not podeviction.skips_budgets(pod):
                raise
            raise _Changed(e) from e

    async def _budget(self, pod: Object) -> Object | None:
        """The budget that guards the pod; None for pods that are evicted whatever budgets say."""
        if podeviction.skips_budgets(pod):
            return None
        lookup = self.registry.lookup(self.scope.tenant)
        return podeviction.budget_of(pod, await lookup.list(_BUDGETS, self.scope.namespace))

    async def _store_charge(self, budget_name: str, pod: Object, options: WriteOptions) -> None:
        """Spends from the budget as it is by now: another eviction may have spent from it since it
        was read. Raises as `podeviction.charge` does."""
        scope = self.sibling("policy", "poddisruptionbudgets", budget_name, "status")
        await self.change(
            scope, lambda old: podeviction.charge(old, pod, self.scope.now) or old, options
        )

    async def _delete(
        self, delete_options: DeleteOptions, budget: Object | None, options: WriteOptions
    ) -> None:
        """``budget``: clients are told to come back when the pod has changed under its eyes."""
        delete_options.validate()
        try:
            if not delete_options.dry_run:
                await self._mark(delete_options, options)
            await deletion.delete(
                self.registry.unasked(), self.sibling("", "pods", self.scope.name), delete_options
            )
        except Conflict as e:
            if budget is None:
                raise
            raise podeviction.still_processed(budget["metadata"]["name"]) from e

    async def _mark(self, delete_options: DeleteOptions, options: WriteOptions) -> None:
        """Writes why the pod goes into its status; a deletion that names the pod's version names
        the one that comes of it. Raises Conflict."""
        scope = self.sibling("", "pods", self.scope.name, "status")

        def mark(old: Object) -> Object:
            deletion.check_preconditions(scope.resource, old, delete_options)
            return podeviction.marked(old, self.scope.now)

        stored = await self.change(scope, mark, options)
        if delete_options.precondition_resource_version is not None:
            version = stored.object["metadata"]["resourceVersion"]
            delete_options.precondition_resource_version = version


class LogView(PodView):
    """GET pods/NAME/log: there is no kubelet, so a pod has no log; what is wrong with the question
    is still said."""

    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        accept = self.request.header(b"accept")
        negotiate.check_route(accept, supported=("text/plain", *negotiate.ALL))
        negotiate.negotiate(accept, negotiate.allow_plain)
        errors = podstreams.log_errors(self._options())
        if errors:
            raise Invalid(GroupKind("", "PodLogOptions"), self.scope.name, errors)
        pod = await self.pod()
        podstreams.container_of(pod, first(self.request.query, "container"))
        if not pod["spec"].get("nodeName"):
            response = HttpResponse(status=204)
            del response["Content-Type"]
            return response
        raise podstreams.unreachable(await self.node(pod["spec"]["nodeName"]))

    def _options(self) -> Object:
        """Raises BadRequest for what is no number or no time."""
        query = self.request.query
        options: Object = {"stream": first(query, "stream")} if query.get("stream") else {}
        for name, read in (
            ("sinceSeconds", parse_int),
            ("sinceTime", podstreams.since),
            ("tailLines", parse_int),
            ("limitBytes", parse_int),
        ):
            if query.get(name):
                options[name] = read(first(query, name))
        return options


class ConnectView(PodView):
    """exec, attach and portforward: they need a node that runs the pod."""

    async def _connect(self) -> HttpResponseBase | None:
        await self._admit()
        raise await self._unreachable()

    async def _unreachable(self) -> ApiError:
        """Why nothing is at the other end. Raises it, too."""
        if features.enabled(_CREATES):
            await authorize_streams(self.server, self.request)
        pod = await self.pod()
        if self.scope.subresource in ("exec", "attach"):
            podstreams.container_of(pod, first(self.request.query, "container"))
        return podstreams.unreachable(await self.node(podstreams.node_of(pod)))

    async def _admit(self) -> None:
        """Of what the client asks for with its query (``rest.ConnectResource``)."""
        if self.request.query.get("dryRun"):
            raise BadRequest("dryRun is not supported")
        scope, registry = replace(self.scope, until=math.inf), self.registry
        attributes = registry.attributes(scope, "CONNECT", scope.name, None, None)
        attributes.object = podstreams.options_object(
            attributes.kind, self.request.query, self.request.info.parts[3:]
        )
        lookup = registry.lookup(scope.tenant)
        await registry.chain.admit(attributes, lookup)
        await registry.chain.validate(attributes, lookup)

    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        return await self._connect()

    async def post(self, request: ApiRequest) -> HttpResponseBase | None:
        return await self._connect()

    async def put(self, request: ApiRequest) -> HttpResponseBase | None:
        return await self._connect()

    async def patch(self, request: ApiRequest) -> HttpResponseBase | None:
        return await self._connect()

    async def delete(self, request: ApiRequest) -> HttpResponseBase | None:
        return await self._connect()


class ProxyView(ConnectView):
    """proxy of pods, services and nodes: this server connects to none of them."""

    def handler(self) -> Handler:
        """The same for each method that comes here, HEAD and OPTIONS among them."""
        return self.get

    async def _unreachable(self) -> ApiError:
        resource, asked = self.scope.resource, self.scope.name
        target = proxies.target_of(resource.singular, asked)
        if resource.group_resource.resource == "nodes":
            return podstreams.unreachable(await self.node(target.name))
        if resource.group_resource == _PODS:
            proxies.check_pod(await self.core("pods", target.name))
        else:
            port, number = target.port, target.number
            if number is not None:
                port = proxies.port_name(await self.core("services", target.name), number)
            proxies.check_endpoints(await self.core("endpoints", target.name), asked, port)
        return ServiceUnavailable(proxies.UNREACHED)
