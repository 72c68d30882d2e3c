"""AccessExplanation of authorization.polyplane.dev: a SubjectAccessReview that also says by which
rule.

To see it takes the right to create one: it tells of roles and bindings that whoever asks may not be
able to read. Pure, as `apiserver.authz.reviews`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.authz.attributes import Attributes, Grant
from apiserver.authz.explain import Explanation, shortened
from apiserver.authz.reviews import (
    attributes_of,
    metadata_errors,
    refuse,
    spec_errors,
    spec_of,
    status_of,
    subject_of,
)
from apiserver.meta.objects import Object
from apiserver.user import User

Explain = Callable[[Attributes], Awaitable[Explanation]]


async def access_explanation(review: Object, user: User, explain: Explain) -> Object:
    """``user``: who asks, and who is meant where the review names nobody. Raises Invalid."""
    refuse(spec_errors(review, named=False) + metadata_errors(review, "must be empty"))
    spec = spec_of(review)
    named = spec.get("user") or spec.get("groups")
    attributes, problems = attributes_of(subject_of(spec) if named else user, spec)
    explanation = await explain(attributes)
    status = status_of(explanation.decision, problems) | explained(explanation)
    return {**review, "status": status}


def explained(explanation: Explanation) -> Object:
    """What an AccessExplanation's status has beside that of a SubjectAccessReview."""
    decision = explanation.decision
    status: Object = {}
    if decision.authorizer:
        status["authorizer"] = decision.authorizer
    if decision.grant is not None:
        status["grant"] = described(decision.grant)
    if explanation.misses:
        status["nearMisses"] = [
            {**described(miss.grant), "lacking": list(miss.lacking)} for miss in explanation.misses
        ]
    if explanation.unresolved:
        status["unresolved"] = explanation.unresolved
    if not explanation.complete:
        status["incomplete"] = True
    return status


def described(grant: Grant) -> Object:
    """An AccessGrant."""
    role = grant.binding["roleRef"]
    rule, truncated = shortened(grant.rule)
    of_role = grant.namespace if role["kind"] == "Role" else ""
    kind = "RoleBinding" if grant.namespace else "ClusterRoleBinding"
    members: Object = {
        "binding": _source(kind, grant.namespace, grant.binding["metadata"]["name"]),
        "role": _source(role["kind"], of_role, role["name"]),
        "subject": grant.subject,
        "rule": rule,
        "ruleIndex": grant.at,
    }
    return members | ({"truncated": True} if truncated else {})


def _source(kind: str, namespace: str, name: str) -> Object:
    return {"kind": kind, "name": name} | ({"namespace": namespace} if namespace else {})
