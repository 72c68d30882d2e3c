"""MutatingAdmissionPolicy: obeys the policies of that kind (k8s.io/apiserver
``policy/mutating/{dispatcher,reinvocationcontext}.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, NamedTuple

from admission.attributes import Attributes, Equivalent, Lookup
from admission.policy.candidates import Invocation
from admission.policy.dispatch import ConditionError, Misconfigured, Plan
from admission.policy.hooks import Binding, Hook
from admission.policy.observer import ALLOW, DENY, Checked
from admission.policy.patches import MutationError, Target, mutate
from admission.policy.plugin import PolicyPlugin
from admission.refusal import object_name
from apiserver.cel.kubernetes.policies import Evaluation
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object, copy_json

NAME: Final = "MutatingAdmissionPolicy"


class _Key(NamedTuple):
    """An invocation, as both rounds know it. param: namespace and name."""

    policy: str
    binding: str
    param: tuple[str, str]


@dataclass(slots=True)
class _Rounds:
    """What the second round of mutating admission knows of the first. last: the object as the first
    left it; asked: invocations that may run again and have run since the last change; again: those
    that shall."""

    last: Object | None = None
    asked: set[_Key] = field(default_factory=set)
    again: set[_Key] = field(default_factory=set)

    def changed(self) -> None:
        self.again |= self.asked
        self.asked.clear()

    def copy(self) -> _Rounds:
        return _Rounds(self.last, set(self.asked), set(self.again))


@dataclass(slots=True)
class _Round:
    """One round's results. objects: by their kind in the policies' versions; last: the kind that
    was written last; errors: of invocations; ran: those that were meant, with the seconds that they
    took and the texts of their errors."""

    rounds: _Rounds
    objects: dict[GroupVersionKind, Object | None]
    changed: bool = False
    last: Equivalent | None = None
    errors: list[Misconfigured] = field(default_factory=list)
    ran: list[tuple[Invocation, float, list[str]]] = field(default_factory=list)


class MutatingAdmissionPolicy(PolicyPlugin):
    name = NAME
    kind = "mutating"

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation != "DELETE" and super().handles(attributes)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        planned = await self._planned(attributes, lookup)
        if planned is None:
            return
        steps = [step for step in planned.steps if isinstance(step, Invocation)]
        errors = [step for step in planned.steps if isinstance(step, Misconfigured)]
        for error in errors:
            self._count_misconfigured(attributes, error)
        if steps:
            errors += await self._invoke(planned, steps, attributes, lookup)
        _refuse(attributes, [error for error in errors if not error.hook.fails_open])

    async def _invoke(
        self, planned: Plan, steps: list[Invocation], attributes: Attributes, lookup: Lookup
    ) -> list[Misconfigured]:
        reinvocation = attributes.reinvocation
        rounds = reinvocation.values.setdefault(NAME, _Rounds())
        if reinvocation.again and rounds.last != attributes.object:
            rounds.changed()  # by another plugin
        targets = {step.matched: _target(lookup, step.matched) for step in steps}

        def work() -> _Round:
            objects = {kind: new for kind, (new, _) in planned.versions.items()}
            done = _Round(rounds.copy(), objects)
            for step in steps:
                begun, errors = perf_counter(), len(done.errors)
                if self._run(planned, step, targets, done, again=reinvocation.again):
                    texts = [error.message for error in done.errors[errors:]]
                    done.ran.append((step, perf_counter() - begun, texts))
            if done.last is not None:  # all that ran may run again, even if nothing is different
                done.rounds.changed()
                done.changed = True
            return done

        done = await planned.decisions.run(work)
        for step, seconds, texts in done.ran:
            check = Checked(attributes.tenant, self.kind, step.hook.name, step.binding.name)
            refused = texts and not step.hook.fails_open
            self._count(check, seconds, DENY if refused else ALLOW, texts)
        rounds = reinvocation.values[NAME] = done.rounds
        if done.changed:
            reinvocation.requested = True
        if done.last is not None:
            await _put_back(attributes, done, done.last, lookup)
        rounds.last = copy_json(attributes.object) if rounds.asked else None
        return done.errors

    def _run(
        self,
        planned: Plan,
        step: Invocation,
        targets: Mapping[Equivalent, Target],
        done: _Round,
        *,
        again: bool,
    ) -> bool:
        """One invocation: all mutations of one policy, in order. An error ends none but its own.
        Whether it was meant."""
        compiled, kind = self.hooks.compiled(step.hook), step.matched.kind
        before = done.objects[kind]
        try:
            if not planned.matches(compiled, step, before):
                return False
        except ConditionError as error:
            done.errors.append(_failed(step, error))
            return True
        key = _key(step)
        if again and key not in done.rounds.again:
            return False
        for mutation in compiled.mutations:
            obj = done.objects[kind]
            if obj is None:
                break
            evaluation = Evaluation(planned.bindings(step, obj), compiled.variables)
            try:
                done.objects[kind] = mutate(mutation, evaluation, obj, targets[step.matched])
                done.last = step.matched
            except MutationError as error:
                done.errors.append(_failed(step, error))
        if done.objects[kind] != before:
            done.rounds.changed()
            done.changed = True
        if step.hook.spec.get("reinvocationPolicy") == "IfNeeded":
            done.rounds.asked.add(key)
        return True


def _failed(step: Invocation, error: Exception) -> Misconfigured:
    return Misconfigured(step.hook, step.binding, str(error), "Invalid")


def _target(lookup: Lookup, matched: Equivalent) -> Target:
    return Target(lookup.type_of(matched), lambda obj: lookup.decode(obj, matched))


def _key(step: Invocation) -> _Key:
    metadata = (step.param or {}).get("metadata") or {}
    param = (metadata.get("namespace", ""), metadata.get("name", ""))
    return _Key(step.hook.name, step.binding.name, param)


async def _put_back(
    attributes: Attributes, done: _Round, matched: Equivalent, lookup: Lookup
) -> None:
    """The object that was written last, in the version of the request."""
    obj = done.objects[matched.kind]
    assert obj is not None, "a mutation has made it"
    if matched.kind != attributes.kind:
        obj = await lookup.convert(
            obj, matched.resource, Equivalent(attributes.resource, attributes.kind)
        )
    attributes.object = obj


def _refuse(attributes: Attributes, errors: list[Misconfigured]) -> None:
    """Raises Forbidden with the first error as its message, and all of them as causes."""
    if not errors:
        return
    messages = [_denied(error.hook, error.binding, error.message) for error in errors]
    refusal = Forbidden(attributes.group_resource, object_name(attributes), "")
    refusal.message = messages[0]
    refusal.reason = errors[0].reason or refusal.reason
    causes = [{"message": message} for message in messages]
    refusal.details = {**(refusal.details or {}), "causes": causes}
    raise refusal


def _denied(hook: Hook, binding: Binding | None, why: str) -> str:
    if binding is None:
        return f'policy "{hook.name}" denied request: {why}'
    return f"policy '{hook.name}' with binding '{binding.name}' denied request: {why}"
