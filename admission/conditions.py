"""Match conditions, which policies and webhooks have in common: what they see of a request, and
what comes of several (k8s.io/apiserver ``webhook/matchconditions/matcher.go``)."""

from __future__ import annotations

from collections.abc import Sequence

from admission.attributes import Attributes, Equivalent
from admission.expressions import Named
from admission.rules import namespace_of
from apiserver.cel.kubernetes.policies import Evaluation, OutOfBudget, admission_request
from apiserver.meta.objects import Object


def request_of(attributes: Attributes, matched: Equivalent) -> Object:
    """Value of the variable ``request``."""
    user = attributes.user
    return admission_request(
        matched.kind._asdict(),
        matched.resource._asdict(),
        attributes.operation,
        {
            "username": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {name: list(values) for name, values in user.extra.items()},
        },
        attributes.kind._asdict(),
        attributes.resource._asdict(),
        attributes.subresource,
        attributes.name,
        namespace_of(attributes),
        attributes.dry_run,
        attributes.options or None,
    )


def condition_errors(evaluation: Evaluation, conditions: Sequence[Named]) -> list[str] | None:
    """None where one is false, whatever the others say; all are evaluated before."""
    try:
        results = [evaluation.evaluate(condition.expression.get()) for condition in conditions]
    except OutOfBudget as error:
        return [str(error)]
    if any(result.value is False for result in results):
        return None
    return [result.error for result in results if result.error]
