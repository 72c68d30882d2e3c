"""Match conditions of webhooks: whether one is asked about a request that its rules are about.

Source: k8s.io/apiserver ``admission/plugin/webhook/generic/webhook.go`` ShouldCallHook.
"""

from __future__ import annotations

import logging

from admission.attributes import Authorize, Equivalent, Lookup
from admission.conditions import condition_errors, request_of
from admission.policy.compiled import Library
from admission.policy.decisions import Decisions
from admission.webhooks.call import Invocation
from admission.webhooks.observer import Observer
from apiserver.cel.kubernetes.policies import MATCH_CONDITIONS_BUDGET, Evaluation
from apiserver.errors import Forbidden, aggregate

log = logging.getLogger("polyplane.webhooks")


class Conditions:
    """For all webhooks of the process. compiled: shared with policies."""

    def __init__(self, compiled: Library, authorize: Authorize, observer: Observer) -> None:
        self._compiled, self._authorize, self._observer = compiled, authorize, observer

    async def hold(self, invocation: Invocation, lookup: Lookup) -> bool:
        """Whether the webhook is to be asked. Raises Forbidden where that cannot be told and its
        failurePolicy is Fail."""
        hook, attributes = invocation.hook, invocation.attributes
        if not hook.conditions:
            return True
        decisions = Decisions(self._authorize, attributes, lookup)
        errors = await decisions.run(lambda: self._errors(invocation, decisions))
        for _ in errors or ():
            self._observer.conditions_failed(invocation.called)
        if errors and not hook.fails_open:
            why = aggregate(errors)
            log.warning("failed evaluating match conditions, failing closed %s: %s", hook.name, why)
            raise Forbidden(attributes.group_resource, attributes.name, why)
        if errors is None or errors:
            self._observer.excluded(invocation.called)
            return False
        return True

    def _errors(self, invocation: Invocation, decisions: Decisions) -> list[str] | None:
        hook, attributes = invocation.hook, invocation.attributes
        compiled = self._compiled.get(hook.digest, {"matchConditions": hook.conditions})
        values = {
            "object": invocation.pair.new,
            "oldObject": invocation.pair.old,
            "params": None,
            "request": request_of(
                attributes, Equivalent(attributes.resource, invocation.matched.kind)
            ),
            "namespaceObject": None,
            "authorizer": decisions.authorizer,
            "authorizer.requestResource": decisions.request_resource,
        }
        evaluation = Evaluation(values, compiled.variables, MATCH_CONDITIONS_BUDGET)
        return condition_errors(evaluation, compiled.conditions)
