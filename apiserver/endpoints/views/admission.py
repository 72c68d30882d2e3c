"""policies.polyplane.dev/v1: an ExpressionReview tries expressions of policies out, an
AdmissionUseReview says what policies and webhooks have been used for.

Everybody who is known may ask both (apiserver.authorizers.chain). The first reads nothing of the
tenant: objects, parameters and the request are sent along, and ``authorizer`` answers nothing that
an access review would not. The second tells of configurations that whoever asks may list, and the
texts of their errors, which may hold parts of objects, to those who may change them.
"""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.policy import tryout
from admission.policy.decisions import Decisions
from apiserver.authz import attributes as authz
from apiserver.endpoints import metrics
from apiserver.endpoints.admission_use import POLICIES, WEBHOOKS, Use
from apiserver.endpoints.views.reviews import ReviewView
from apiserver.errors import BadRequest
from apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

MOST_EXPRESSIONS = 100
_REVIEWS = "authorization.k8s.io"
_OTHERS = "to ask for the rights of others takes the right to create SubjectAccessReviews"


class ExpressionReviewView(ReviewView):
    async def _answer(self, review: Object) -> Object:
        spec = review["spec"]
        expressions, variables = spec.get("expressions") or (), spec.get("variables") or ()
        if not expressions:
            raise BadRequest("spec.expressions: Required value")
        if len(expressions) + len(variables) > MOST_EXPRESSIONS:
            raise BadRequest(f"spec: must have at most {MOST_EXPRESSIONS} expressions")
        attributes = _attributes(spec.get("request") or {}, self.scope.user, self.scope.tenant.id)
        size = len(await self.request.read_body())
        lookup = self.registry.lookup(self.scope.tenant, self.scope.asker(size))
        decisions = Decisions(self._decide, attributes, lookup)
        bindings = tryout.bindings_of(spec, attributes, decisions)
        status = await decisions.run(lambda: tryout.evaluate(spec, bindings))
        return {**review, "status": status}

    async def _decide(self, lookup: Lookup, question: authz.Attributes) -> authz.Decision:
        """What ``authorizer`` is told: no more than the reviews that whoever asks may create."""
        own = question.user is self.scope.user
        review = "selfsubjectaccessreviews" if own else "subjectaccessreviews"
        asking = authz.Attributes(self.scope.user, "create", _REVIEWS, "*", review)
        if not (await self._authorize(asking)).allowed:
            return authz.Decision(False, error=_OTHERS)
        return await self._authorize(question)


def _attributes(request: Object, user: User, tenant: int) -> Attributes:
    """What ``request`` is made of; without userInfo it is whoever asks."""
    info = request.get("userInfo")
    if info is not None:
        extra = {key: tuple(values or ()) for key, values in (info.get("extra") or {}).items()}
        groups = tuple(info.get("groups") or ())
        user = User(info.get("username", ""), info.get("uid", ""), groups, extra)
    group, version = request.get("group", ""), request.get("version", "")
    resource = request.get("resource", "")
    return Attributes(
        tenant=tenant,
        operation=request.get("operation") or "CREATE",
        kind=GroupVersionKind(group, version, request.get("kind", "")),
        resource=GroupVersionResource(group, version, resource),
        subresource=request.get("subResource", ""),
        namespace=request.get("namespace", ""),
        name=request.get("name", ""),
        object=None,
        old=None,
        user=user,
        dry_run=request.get("dryRun", False),
        namespaced=bool(request.get("namespace")),
    )


class AdmissionUseReviewView(ReviewView):
    async def _answer(self, review: Object) -> Object:
        tenant, peers = self.scope.tenant.id, self.server.peers
        told = [metrics.snapshot(tenant)]
        if peers is not None:
            own, others = await peers.counted(tenant)
            told = [own, *others]
        use, status, hidden = Use(told), dict[str, object](), []
        for member, resources in (("policies", POLICIES), ("webhooks", WEBHOOKS)):
            rows: list[Object] = []
            for resource in resources:
                if await self._may("list", resource):
                    rows += use.of(resource, texts=await self._may("update", resource))
                else:
                    hidden.append(resource)
            status[member] = rows
        members = {**status, "hidden": hidden}
        return {**review, "status": {name: rows for name, rows in members.items() if rows}}

    async def _may(self, verb: str, resource: str) -> bool:
        asked = authz.Attributes(
            self.scope.user, verb, "admissionregistration.k8s.io", "*", resource
        )
        return (await self._authorize(asked)).allowed
