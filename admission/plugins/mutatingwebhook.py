"""MutatingAdmissionWebhook: webhooks that may change the object, one after the other.

Source: k8s.io/apiserver ``admission/plugin/webhook/mutating`` (dispatcher.go,
reinvocationcontext.go).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import orjson

from admission.attributes import Attributes, Lookup
from admission.rules import is_configuration
from admission.webhooks import patches
from admission.webhooks.call import MOST, Caller, Invocation, too_many
from admission.webhooks.conditions import Conditions
from admission.webhooks.denial import CallFailure
from admission.webhooks.hooks import MUTATING, Candidate, Hook, Hooks
from admission.webhooks.versions import Versions
from apiserver.errors import ApiError, InternalError
from apiserver.meta.objects import Object, copy_json
from apiserver.patch.jsonpatch import Operation
from apiserver.schema.decode import DecodeError

_PATCH = "patch.webhook.admission.k8s.io/"
_MUTATION = "mutation.webhook.admission.k8s.io/"
_FAILED_OPEN = f"failed-open.{_MUTATION}"


@dataclass(slots=True)
class _Asked:
    """What is known from the first run of a request when it comes to the second. last: the object
    as the webhooks left it; invoked: reinvocable webhooks that have not seen a later change; again:
    those that are to be asked again; matches: how many webhooks this run has been about so far."""

    last: Object | None = None
    matches: int = 0
    invoked: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)

    def changed(self) -> None:
        """The object is another than the ones who were asked have seen."""
        self.again |= self.invoked
        self.invoked = set()


class MutatingAdmissionWebhook:
    name = "MutatingAdmissionWebhook"

    def __init__(self, caller: Caller, conditions: Conditions) -> None:
        self._caller, self._conditions = caller, conditions
        self._hooks = Hooks(MUTATING)

    def handles(self, attributes: Attributes) -> bool:
        return not is_configuration(attributes)

    def forget(self, tenant: int) -> None:
        self._hooks.forget(tenant)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        candidates = await self._hooks.of(attributes, lookup)
        if not candidates:
            return
        asked = attributes.reinvocation.values.setdefault(self.name, _Asked())
        if attributes.reinvocation.again and asked.last != attributes.object:
            asked.changed()
        versions, asked.matches = Versions(attributes, lookup), 0
        for candidate in candidates:
            turn = _Turn(
                self._caller, self._conditions, attributes, lookup, versions, asked, candidate
            )
            await turn.take()
        asked.last = copy_json(attributes.object) if asked.invoked else None


@dataclass(frozen=True, slots=True)
class _Turn:
    """The turn of one webhook."""

    caller: Caller
    conditions: Conditions
    attributes: Attributes
    lookup: Lookup
    versions: Versions
    asked: _Asked
    candidate: Candidate

    @property
    def hook(self) -> Hook:
        return self.candidate.hook

    async def take(self) -> None:
        """Raises ApiError where the request is refused."""
        attributes, hook, matched = self.attributes, self.hook, self.candidate.matched
        if not await self.candidate.selected(attributes, self.lookup):
            return
        self.asked.matches += 1
        if self.asked.matches > MOST:
            raise too_many(attributes, "mutating")
        pair = await self.versions.at(matched)
        invocation = Invocation(hook, "admit", attributes, matched, pair)
        if not await self.conditions.hold(invocation, self.lookup):
            return
        again = attributes.reinvocation.again
        if again and hook.uid not in self.asked.again:
            return  # nobody is asked for the first time in the second round
        await self._call(invocation)

    async def _call(self, invocation: Invocation) -> None:
        attributes, asked, begun = self.attributes, self.asked, time.monotonic()
        changed, error = False, None
        try:
            changed = await attributes.bounds.within(self._changed(invocation))
        except (CallFailure, ApiError) as failure:
            error = failure
        self.caller.count(invocation, time.monotonic() - begun, error)
        self._annotate(_MUTATION, mutated=changed)
        if changed:
            asked.changed()
            attributes.reinvocation.requested = True
        if self.hook.reinvocable:
            asked.invoked.add(self.hook.uid)
        if isinstance(error, CallFailure):
            self.caller.fail(invocation, error, self._key(_FAILED_OPEN))
        elif error is not None:
            raise error

    async def _changed(self, invocation: Invocation) -> bool:
        """Whether the webhook has changed the object, which attributes then have."""
        response = await self.caller.ask(invocation, self.lookup)
        operations = patches.operations_of(self.hook.name, response)
        if not operations:
            return False
        obj, matched = invocation.pair.new, invocation.matched
        size = len(response.patch) + (len(orjson.dumps(obj)) if obj is not None else 0)

        def patched() -> Object:
            value = patches.apply(self.hook.name, response, operations, obj)
            try:
                patches.check_kind(value, matched.kind)
                return self.lookup.decode(value, matched)[0]
            except DecodeError as error:
                raise InternalError(str(error)) from None

        new = await self.attributes.bounds.by_size(size, patched)
        changed = bool(new != obj)
        self._annotate(_PATCH, patch=operations, patchType=response.patch_type)
        if changed:
            await self.versions.set(new, matched)
        return changed

    # --- the audit log ----------------------------------------------------------------------------
    def _key(self, prefix: str) -> str:
        return (
            f"{prefix}round_{int(self.attributes.reinvocation.again)}_index_{self.candidate.index}"
        )

    def _annotate(self, prefix: str, **what: Any | list[Operation]) -> None:
        value = {"configuration": self.hook.configuration, "webhook": self.hook.name, **what}
        self.attributes.annotate(self._key(prefix), orjson.dumps(value).decode())
