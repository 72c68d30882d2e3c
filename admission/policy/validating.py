"""ValidatingAdmissionPolicy: obeys the policies of that kind (k8s.io/apiserver
``policy/validating/{dispatcher,validator}.go``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import orjson

from admission.attributes import Attributes, Lookup
from admission.policy.candidates import Invocation
from admission.policy.compiled import Compiled, Validation
from admission.policy.dispatch import ConditionError, Misconfigured, Plan
from admission.policy.hooks import Binding, Hook
from admission.policy.observer import ALLOW, DENY, Checked
from admission.policy.plugin import PolicyPlugin
from admission.refusal import object_name
from apiserver.cel.kubernetes.policies import POLICY_BUDGET, Evaluation, OutOfBudget, PolicyResult
from apiserver.errors import Forbidden

_LONGEST_MESSAGE: Final = 5 * 1024
"""Bytes of what a messageExpression gives."""
_LONGEST_ANNOTATION: Final = 10 * 1024
_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_FAILURE = "validation.policy.admission.k8s.io/validation_failure"


@dataclass(frozen=True, slots=True)
class Denial:
    """index: of the validation that failed; reason: "" where an expression could not be
    evaluated."""

    index: int
    message: str
    reason: str = ""


@dataclass(slots=True)
class Outcome:
    """Of one evaluation of a policy. annotations: (key, value); failures: what is wrong with
    annotations, which denies whatever the binding's actions are; errors: all that could not be
    evaluated, also where the policy ignores it."""

    denials: list[Denial] = field(default_factory=list)
    annotations: list[tuple[str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


PASSED_BY: Final = Outcome()
"""Of a policy whose conditions do not mean the request."""


class ValidatingAdmissionPolicy(PolicyPlugin):
    name = "ValidatingAdmissionPolicy"
    kind = "validating"

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        planned = await self._planned(attributes, lookup)
        if planned is None:
            return
        # what is evaluated is not evaluated again; None: there is nothing to tell
        outcomes: dict[int, Outcome | None] = {}
        took: dict[int, float] = {}

        def work() -> None:
            for i, step in enumerate(planned.steps):
                if i not in outcomes and isinstance(step, Invocation):
                    begun = perf_counter()
                    outcomes[i] = evaluate(self.hooks.compiled(step.hook), planned, step)
                    took[i] = perf_counter() - begun

        await planned.decisions.run(work)
        for i, step in enumerate(planned.steps):
            if isinstance(step, Misconfigured):
                self._count_misconfigured(attributes, step)
            elif outcomes[i] is not PASSED_BY:
                check = Checked(attributes.tenant, self.kind, step.hook.name, step.binding.name)
                self._count(check, took[i], *_came_of(outcomes[i], step.binding))
        _conclude(attributes, planned.steps, outcomes)


def _came_of(outcome: Outcome | None, binding: Binding) -> tuple[str, Sequence[str]]:
    """The sharpest of the binding's actions, as metrics name them, and the errors."""
    if outcome is None:
        return ALLOW, ()
    actions = binding.spec.get("validationActions") or () if outcome.denials else ()
    action = DENY if outcome.failures or "Deny" in actions else ALLOW
    for other in ("Warn", "Audit"):
        if action == ALLOW and other in actions:
            action = other.lower()
    return action, outcome.errors


# --- one evaluation -------------------------------------------------------------------------------
def evaluate(compiled: Compiled, planned: Plan, invocation: Invocation) -> Outcome | None:
    """Pure."""
    try:
        if not planned.matches(compiled, invocation):
            return PASSED_BY
        return _validate(compiled, planned, invocation)
    except (ConditionError, OutOfBudget) as error:
        denials = [] if invocation.hook.fails_open else [Denial(0, str(error))]
        return Outcome(denials, errors=[str(error)])


def _validate(compiled: Compiled, planned: Plan, invocation: Invocation) -> Outcome | None:
    """Raises OutOfBudget where validations or annotations spend too much."""
    fails_open, variables = invocation.hook.fails_open, compiled.variables
    evaluation = Evaluation(planned.bindings(invocation), variables)
    results = [evaluation.evaluate(v.expression.get()) for v in compiled.validations]
    if not compiled.speaks and all(result.value is True for result in results):
        return None
    outcome = Outcome()
    values = planned.bindings(invocation, authorizer=False)
    messages, failure = _messages(compiled, values, evaluation.budget)
    for i, (validation, result) in enumerate(zip(compiled.validations, results, strict=True)):
        error = result.error or failure
        if error:
            outcome.errors.append(error)
            outcome.denials += [] if fails_open else [Denial(i, error)]
        elif result.value is not True:
            text = _message(validation, messages[i])
            outcome.denials.append(Denial(i, text, validation.reason))
    if compiled.annotations:
        annotating = Evaluation(values, variables, POLICY_BUDGET)
        for annotation in compiled.annotations:
            _annotate(annotation.name, annotating.evaluate(annotation.expression.get()), outcome)
    outcome.errors += outcome.failures
    if fails_open:
        outcome.failures = []
    return outcome


def _messages(
    compiled: Compiled, values: Mapping[str, Any], budget: int
) -> tuple[Sequence[PolicyResult | None], str]:
    """One for each validation, whether it failed or not, and why none of them counts: what
    validations left of the budget has been spent."""
    messages = [v.message_expression for v in compiled.validations]
    if not any(messages):
        return [None] * len(messages), ""
    evaluation = Evaluation(values, compiled.variables, budget)
    try:
        return [evaluation.evaluate(m.get()) if m is not None else None for m in messages], ""
    except OutOfBudget as error:
        return [], f"failed messageExpression: {error}"


def _message(validation: Validation, result: PolicyResult | None) -> str:
    """What the messageExpression says, if it is one line of a bearable length; else the message;
    else the expression."""
    if result is not None and isinstance(result.value, str):
        text = result.value.strip()
        if text and len(text.encode()) <= _LONGEST_MESSAGE and "\n" not in text:
            return text
    source = validation.expression.source.strip()
    return validation.message.strip() or f"failed expression: {source}"


def _annotate(key: str, result: PolicyResult, outcome: Outcome) -> None:
    if result.error:
        outcome.failures.append(result.error)
    elif isinstance(result.value, str) and result.value.strip():
        outcome.annotations.append((key, result.value.strip()))


# --- all of a request -----------------------------------------------------------------------------
def _conclude(
    attributes: Attributes,
    steps: Sequence[Invocation | Misconfigured],
    outcomes: Mapping[int, Outcome | None],
) -> None:
    """Warns, annotates, and raises Forbidden for the first denial."""
    refusals: list[Forbidden] = []
    annotations: dict[str, list[str]] = defaultdict(list)
    for i, step in enumerate(steps):
        if isinstance(step, Misconfigured):
            if not step.hook.fails_open:
                refusals.append(_refusal(attributes, step.hook, step.binding, step.message))
            continue
        outcome = outcomes[i]
        if outcome is None:
            continue
        for denial in outcome.denials:
            _act(attributes, step, denial, refusals)
        for key, value in outcome.annotations:
            values = annotations[f"{step.hook.name}/{key}"]
            value = value.encode()[:_LONGEST_ANNOTATION].decode(errors="ignore")
            if value not in values:
                values.append(value)
        refusals += [
            _refusal(attributes, step.hook, step.binding, message) for message in outcome.failures
        ]
    for key, values in annotations.items():
        attributes.annotate(key, ", ".join(values))
    if refusals:
        raise refusals[0]


def _act(
    attributes: Attributes, step: Invocation, denial: Denial, refusals: list[Forbidden]
) -> None:
    hook, binding = step.hook, step.binding
    actions = binding.spec.get("validationActions") or ()
    for action in actions:
        if action == "Deny":
            refusals.append(_refusal(attributes, hook, binding, denial.message, denial.reason))
        elif action == "Audit":
            failure = {
                "message": denial.message,
                "policy": binding.policy,
                "binding": binding.name,
                "expressionIndex": denial.index,
                "validationActions": list(actions),
            }
            attributes.annotate(_FAILURE, orjson.dumps([failure]).decode())
        elif action == "Warn":
            attributes.warn(
                f"Validation failed for ValidatingAdmissionPolicy '{hook.name}' with binding "
                f"'{binding.name}': {denial.message}"
            )


def _refusal(
    attributes: Attributes, hook: Hook, binding: Binding | None, why: str, reason: str = ""
) -> Forbidden:
    """Named like a forbidden request, with the code that its reason stands for."""
    bound = f" with binding '{binding.name}'" if binding is not None else ""
    message = f"ValidatingAdmissionPolicy '{hook.name}'{bound} denied request: {why}"
    error = Forbidden(attributes.group_resource, object_name(attributes), message)
    error.reason = reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
