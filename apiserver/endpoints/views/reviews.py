"""Reviews: create-only resources that answer a question and store nothing."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from apiserver.authn.accountclaims import Refused
from apiserver.authz import reviews
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.explain import Explanation
from apiserver.authz.explanations import access_explanation
from apiserver.authz.grantreviews import grant_review
from apiserver.authz.grants import Asked, Granted
from apiserver.authz.rbac import GROUP, UserRules
from apiserver.codec import strict
from apiserver.endpoints import encode
from apiserver.endpoints.filters.authentication import identify
from apiserver.endpoints.owntenants import after_of, person_of, told
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.views.base import KubernetesView
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import MethodNotAllowed
from apiserver.kinds.authentication.reviews import token_of, token_review, user_info
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time
from apiserver.registry import objectmeta
from apiserver.registry.offload import by_size
from apiserver.registry.options import WriteOptions
from apiserver.registry.result import Stored
from apiserver.user import User

_INVALID = "invalid bearer token"


class ReviewView(ResourceView):
    """Goes through all of DRF's steps; its parsers read the body."""

    dispatch = KubernetesView.dispatch

    def get_parser_context(self, request: ApiRequest) -> dict[str, Any]:
        """What `rest.EncodingParser` needs."""
        options = WriteOptions.parse(request.query, "CreateOptions")
        validation = strict.directive(options.field_validation)
        return {"view": self, "scope": self.scope, "validation": validation}

    async def post(self, request: Request) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        parser = request.negotiator.select_parser(request, request.parsers)
        data = await self.request.read_body()  # request.data sees none that names no length
        asker = self.scope.asker(parser.encoding.weight(data, self.scope.schema))
        review = await by_size(
            asker, lambda: parser.parse(BytesIO(data), parser.media_type, request.parser_context)
        )
        answer = await self._answer(await by_size(asker, lambda: self._managed(review)))
        return encode.object_response(self.request, self.scope, kind, Stored.of_object(answer), 201)

    def _managed(self, review: Object) -> Object:
        """Who asks owns the question: it is shown by the reviews that answer with what was sent.
        What only the server sets does not count, and the namespace is the request's."""
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        scope = self.scope
        metadata = review.setdefault("metadata", {})
        objectmeta.wipe_system_fields(metadata)
        objectmeta.ensure_namespace(metadata, scope.namespace)
        return self.registry.manager(scope.resource).update(
            None,
            review,
            self.manager(options),
            api_version=scope.gvk.api_version,
            now=scope.now,
        )

    async def _answer(self, review: Object) -> Object:
        resource, user = self.scope.resource.resource, self.scope.user
        if resource == "subjectaccessreviews":
            return await reviews.subject_access_review(review, self._authorize)
        if resource == "localsubjectaccessreviews":
            return await reviews.local_subject_access_review(
                review, self.scope.namespace, self._authorize
            )
        if resource == "selfsubjectaccessreviews":
            return await reviews.self_subject_access_review(review, user, self._authorize)
        if resource == "selfsubjectrulesreviews":
            return await reviews.self_subject_rules_review(review, user, self._rules)
        if resource == "accessexplanations":
            return await access_explanation(review, user, self._explain)
        if resource == "grantreviews":
            return await grant_review(review, self._grants)
        if resource == "selfsubjectreviews":
            return {
                **review,
                "metadata": {"creationTimestamp": format_time(self.scope.now)},
                "status": {"userInfo": user_info(user)},
            }
        return await self._token_review(review)

    async def _authorize(self, attributes: Attributes) -> Decision:
        return await self.server.authorizer.authorize(self.request.tenant, attributes)

    async def _explain(self, attributes: Attributes) -> Explanation:
        return await self.server.authorizer.explain(self.request.tenant, attributes)

    async def _grants(self, asked: Asked) -> Granted:
        async def may(verb: str, resource: str, namespace: str, name: str) -> bool:
            question = Attributes(self.scope.user, verb, GROUP, "*", resource, "", namespace, name)
            return (await self._authorize(question)).allowed

        return await self.server.authorizer.grants(self.request.tenant, asked, may)

    async def _rules(self, user: User, namespace: str) -> UserRules:
        return await self.server.authorizer.rules_for(self.request.tenant, user, namespace)

    async def _token_review(self, review: Object) -> Object:
        token, audiences = token_of(review), review["spec"].get("audiences") or ()
        try:
            identity = await identify(self.server, self.request.tenant, token, audiences)
        except Refused as e:
            return token_review(review, None, error=f"[{_INVALID}, {e}]")
        if identity is None:
            return token_review(review, None, error=_INVALID)
        return token_review(review, identity.user, identity.audiences)


class SelfTenantReviewView(ReviewView):
    """Which tenants the one who asks owns, or is bound in. The type comes from a definition: all
    methods have routes, and all but this one are refused."""

    async def _answer(self, review: Object) -> Object:
        after, person = after_of(review), await person_of(self.server, self.request)
        status = told(await self.server.directory.own(*person, after))
        metadata = {"creationTimestamp": format_time(self.scope.now)}
        return {**review, "metadata": metadata, "status": status}

    async def _refuse(self, request: Request) -> HttpResponseBase | None:
        raise MethodNotAllowed(self.scope.resource.group_resource, self.request.info.verb)

    get = put = patch = delete = _refuse
