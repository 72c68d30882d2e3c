"""POST to serviceaccounts/NAME/token: a token of the account, bound to an object that it dies with
if the request wants that.

Nothing is stored, so a dry run gets its token too, as from kube-apiserver.
Source: kubernetes ``pkg/registry/core/serviceaccount/storage/token.go``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.http.response import HttpResponseBase

from admission.attributes import Attributes
from apiserver.authn.accountclaims import Ref
from apiserver.authn.serviceaccounts import RESOURCES, credential_of
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import NotFound
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.authentication import token_request
from apiserver.meta import features
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time
from apiserver.registry import mutation, reading
from apiserver.registry.options import WriteOptions, options_of
from apiserver.registry.result import Stored
from apiserver.schema import builtin

ISSUED = "authentication.kubernetes.io/issued-credential-id"
MISMATCH = "authentication.k8s.io/token-request-uid-mismatch"
"""Annotations of audit entries."""
_API_VERSION = token_request.KIND.api_version
_FIELDS = FieldManager(
    token_request.KIND.kind, lambda _: builtin.schema_for(token_request.KIND), lambda obj, _: obj
)


class TokenView(ResourceView):
    async def post(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        bodies.encoding_of(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        asked, size = await self._body(options)
        token_request.default_token_request(asked)
        now = self.scope.now
        asked = _FIELDS.update(
            None,
            asked,
            self.manager(options),
            api_version=_API_VERSION,
            subresource="token",
            now=now,
        )
        attributes = self._attributes(asked, options)
        asked = await mutation.mutate(self.registry, self.scope, self.scope.asker(size), attributes)
        await self._issue(asked, attributes)
        return encode.object_response(self.request, self.scope, kind, Stored.of_object(asked), 201)

    def _attributes(self, asked: Object, options: WriteOptions) -> Attributes:
        attributes = self.registry.attributes(
            self.scope,
            "CREATE",
            self.scope.name,
            asked,
            None,
            dry_run=options.dry_run,
            options=options_of("CreateOptions", options.as_object()),
        )
        return replace(attributes, kind=token_request.KIND)

    async def _issue(self, asked: Object, attributes: Attributes) -> None:
        scope, tokens = self.scope, self.server.tokens
        token_request.check_name(asked, scope.name)
        account = await self._existing("serviceaccounts", scope.name)
        audiences, strictly = (
            [tokens.issuer(scope.tenant.name)],
            features.enabled(token_request.UID_VALIDATION),
        )
        for text in token_request.fill_token_request(
            asked, account, audiences, format_time(scope.now), strict=strictly
        ):
            scope.warn(text)
            self._note(MISMATCH, text.rpartition(" but ")[0])
        token_request.validate_token_request(asked)
        attributes.object = asked
        lookup = self.registry.lookup(scope.tenant, scope.asker(0))
        await self.registry.chain.validate(attributes, lookup)
        spec = asked["spec"]
        bound = await self._bound(spec.get("boundObjectRef"))
        seconds = spec["expirationSeconds"]
        token = await tokens.issue(
            scope.tenant, account, spec["audiences"], bound, seconds, scope.now
        )
        self._note(ISSUED, credential_of(token))
        asked["metadata"] = scope.resource.ordered_metadata(asked["metadata"])
        expires = format_time(scope.now + timedelta(seconds=seconds))
        asked["status"] = {"token": token, "expirationTimestamp": expires}

    def _note(self, annotation: str, text: str) -> None:
        if self.scope.trail is not None:
            self.scope.trail.annotate(annotation, text)

    async def _bound(self, ref: Object | None) -> dict[str, Ref]:
        """By the names of the claims: what the request wants the token to be bound to, and the node
        of a pod."""
        if ref is None:
            return {}
        kind = token_request.bound_kind(ref).lower()
        owner = await self._existing(f"{kind}s", ref["name"])
        token_request.check_bound(ref, owner, self.scope.name)
        bound = {kind: Ref(ref["name"], owner["metadata"]["uid"])}
        if kind == "pod" and (node := owner["spec"].get("nodeName")):
            there = await self.registry.lookup(self.scope.tenant).get(
                RESOURCES["node"], "", node, fresh=True
            )
            bound["node"] = Ref(node, there["metadata"]["uid"] if there is not None else "")
        return bound

    async def _existing(self, resource: str, name: str) -> Object:
        """An object of the core group by name, of the request's namespace where it has one. Raises
        NotFound."""
        served_resource = self.registry.catalog.find(self.scope.tenant, "", resource)
        assert served_resource is not None, f"{resource} are built in"
        if "\0" in name:
            raise NotFound(served_resource.group_resource, name)
        served = served_resource.versions[served_resource.storage_version]
        namespace = self.scope.namespace if served_resource.namespaced else ""
        scope = replace(
            self.scope,
            resource=served_resource,
            served=served,
            namespace=namespace,
            name=name,
            subresource="",
        )
        obj: Object = (await reading.get(self.registry, scope)).object
        return obj
