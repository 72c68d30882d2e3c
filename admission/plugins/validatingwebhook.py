"""ValidatingAdmissionWebhook: webhooks that may refuse, all asked at the same time.

Source: k8s.io/apiserver ``admission/plugin/webhook/validating/dispatcher.go``.
"""

from __future__ import annotations

import asyncio
import time

from admission.attributes import Attributes, Lookup
from admission.rules import is_configuration
from admission.webhooks.call import MOST, Caller, Invocation, too_many
from admission.webhooks.conditions import Conditions
from admission.webhooks.denial import CallFailure
from admission.webhooks.hooks import VALIDATING, Hooks
from admission.webhooks.versions import Versions
from apiserver.errors import ApiError

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/"


class ValidatingAdmissionWebhook:
    name = "ValidatingAdmissionWebhook"

    def __init__(self, caller: Caller, conditions: Conditions) -> None:
        self._caller, self._conditions = caller, conditions
        self._hooks = Hooks(VALIDATING)

    def handles(self, attributes: Attributes) -> bool:
        return not is_configuration(attributes)

    def forget(self, tenant: int) -> None:
        self._hooks.forget(tenant)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        candidates = await self._hooks.of(attributes, lookup)
        if not candidates:
            return
        versions, invocations, matches = Versions(attributes, lookup), list[Invocation](), 0
        for candidate in candidates:
            if not await candidate.selected(attributes, lookup):
                continue
            matches += 1
            if matches > MOST:
                raise too_many(attributes, "validating")
            pair = await versions.at(candidate.matched)
            invocation = Invocation(
                candidate.hook, "validating", attributes, candidate.matched, pair
            )
            if await self._conditions.hold(invocation, lookup):
                invocations.append(invocation)
        if invocations:
            await attributes.bounds.within(self._all(invocations, lookup))

    async def _all(self, invocations: list[Invocation], lookup: Lookup) -> None:
        """Asks all, also when one has refused; who refuses first is heard."""
        refusals: list[ApiError] = []

        async def one(index: int, invocation: Invocation) -> None:
            try:
                await self._one(index, invocation, lookup)
            except ApiError as refusal:
                refusals.append(refusal)

        async with asyncio.TaskGroup() as group:
            for index, invocation in enumerate(invocations):
                group.create_task(one(index, invocation))
        if refusals:
            raise refusals[0]

    async def _one(self, index: int, invocation: Invocation, lookup: Lookup) -> None:
        begun = time.monotonic()
        error: CallFailure | ApiError | None = None
        try:
            await self._caller.ask(invocation, lookup)
        except (CallFailure, ApiError) as failure:
            error = failure
        self._caller.count(invocation, time.monotonic() - begun, error)
        if isinstance(error, CallFailure):
            self._caller.fail(invocation, error, f"{_FAILED_OPEN}round_0_index_{index}")
        elif error is not None:
            raise error
