"""What the plugins that obey policies have in common."""

from __future__ import annotations

from admission.attributes import Attributes, Authorize, Lookup
from admission.policy.compiled import Library
from admission.policy.dispatch import EXCLUDED, Plan, plan
from admission.policy.hooks import Hooks


class PolicyPlugin:
    """authorize: what ``authorizer`` asks in expressions."""

    kind: str
    """As in the names of the resources: validating or mutating."""

    def __init__(self, library: Library, authorize: Authorize) -> None:
        self.hooks = Hooks(self.kind, library)
        self._authorize = authorize

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
