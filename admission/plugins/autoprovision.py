"""NamespaceAutoProvision: what is created in a namespace that is not there makes it (kubernetes
``plugin/pkg/admission/namespace/autoprovision``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from admission.attributes import Attributes, Lookup
from admission.refusal import forbidden
from admission.rules import NAMESPACES
from apiserver.errors import AlreadyExists, ApiError

Provide = Callable[[int, str], Awaitable[None]]
"""Creates a namespace: (tenant, name). Raises ApiError."""


class NamespaceAutoProvision:
    name = "NamespaceAutoProvision"

    def __init__(self, provide: Provide) -> None:
        self._provide = provide

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.operation == "CREATE"
            and bool(attributes.namespace)
            and attributes.group_resource != NAMESPACES
            and not attributes.dry_run
        )

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if await lookup.get(NAMESPACES, "", attributes.namespace) is not None:
            return
        try:
            await self._provide(attributes.tenant, attributes.namespace)
        except AlreadyExists:
            return  # the cache lags
        except ApiError as error:
            raise forbidden(attributes, error.message) from None
