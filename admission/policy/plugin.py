"""What the plugins that obey policies have in common."""

from __future__ import annotations

from collections.abc import Sequence

from admission.attributes import Attributes, Authorize, Lookup
from admission.policy.compiled import Library
from admission.policy.dispatch import EXCLUDED, Misconfigured, Plan, plan
from admission.policy.hooks import Hooks
from admission.policy.observer import (
    ALLOW,
    BUDGET_ERROR,
    COMPILE_ERROR,
    DENY,
    INVALID_ERROR,
    NO_ERROR,
    Checked,
    Observer,
)
from apiserver.cel.errors import OUT_OF_BUDGET


class PolicyPlugin:
    """authorize: what ``authorizer`` asks in expressions; observer: counts."""

    kind: str
    """As in the names of the resources: validating or mutating."""

    def __init__(
        self, library: Library, authorize: Authorize, observer: Observer | None = None
    ) -> None:
        self.hooks = Hooks(self.kind, library)
        self._authorize, self._observer = authorize, observer or Observer()

    def handles(self, attributes: Attributes) -> bool:
        return attributes.group_resource not in EXCLUDED

    def forget(self, tenant: int) -> None:
        self.hooks.forget(tenant)

    async def _planned(self, attributes: Attributes, lookup: Lookup) -> Plan | None:
        """None where no policy is about the request. Raises ApiError, StorageError."""
        hooks = await self.hooks.of(attributes.tenant, lookup)
        if not hooks:
            return None
        planned = await plan(hooks, attributes, lookup, self._authorize)
        return planned if planned.steps else None

    # --- what is counted --------------------------------------------------------------------------
    def _count(self, check: Checked, seconds: float, action: str, errors: Sequence[str]) -> None:
        """An evaluation of that many seconds; errors: the texts of what went wrong."""
        self._observer.checked(check, seconds, _sort(errors), action)
        if errors:
            self._observer.failed(check, errors[0])

    def _count_misconfigured(self, attributes: Attributes, step: Misconfigured) -> None:
        binding = step.binding.name if step.binding is not None else ""
        check = Checked(attributes.tenant, self.kind, step.hook.name, binding)
        self._count(check, 0.0, ALLOW if step.hook.fails_open else DENY, [step.message])


def _sort(errors: Sequence[str]) -> str:
    """By the first one, as metrics name it."""
    if not errors:
        return NO_ERROR
    if OUT_OF_BUDGET in errors[0]:
        return BUDGET_ERROR
    return COMPILE_ERROR if errors[0].startswith("compilation error") else INVALID_ERROR
