"""The admission chain: runs the plugins that it is given, in both phases. Which they are, and in
which order, says `admission.order`.

Mutating plugins see each other's changes; validating plugins see the final object. A plugin that is
told about a subresource or an operation that it has no interest in returns at once.

When a policy or a webhook has changed the object, all mutating plugins run once more
(k8s.io/apiserver ``admission/reinvocation.go``); those of policies and webhooks then ask only the
ones with reinvocationPolicy IfNeeded that ran before the change. See
`admission.attributes.Reinvocation`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter
from typing import Protocol

from admission.attributes import Attributes, Lookup, Reinvocation


class Plugin(Protocol):
    """name: as in --enable-admission-plugins."""

    name: str

    def handles(self, attributes: Attributes) -> bool:
        """Whether requests of that sort concern the plugin; the answer is kept. It goes by nothing
        but operation, kind, resource and subresource, and by whether there are a namespace and an
        object and it is a dry run."""


class MutatingPlugin(Plugin, Protocol):
    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        """Changes attributes.object, or sets another one; raises ApiError to refuse."""


class ValidatingPlugin(Plugin, Protocol):
    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Raises ApiError to refuse."""


class KeepingPlugin(Plugin, Protocol):
    def forget(self, tenant: int) -> None:
        """Drops what it keeps for a tenant that is not in use any more."""


ADMIT, VALIDATE = "admit", "validate"
"""Steps of admission."""
WHOLE = ""
"""The name under which a step is counted as a whole."""

Took = Callable[[str, str, str, bool, float], None]
"""(name of a plugin, or `WHOLE`; step; operation; whether it refused the request, or failed;
seconds): counts it. Source of the occasions: k8s.io/apiserver ``admission/metrics/metrics.go``."""


def nobody(name: str, step: str, operation: str, rejected: bool, seconds: float) -> None:
    """Counts nothing."""


_SORTS = 4096
"""Sorts of requests, over all tenants' resources, whose plugins are kept."""
_Runs = list[tuple[str, Callable[[Attributes, Lookup], Awaitable[None]]]]
"""What plugins do in a step, by their names."""


class Chain:
    """counting: who counts, for a tenant, how long plugins take."""

    def __init__(
        self, plugins: Iterable[Plugin], counting: Callable[[int], Took] = lambda tenant: nobody
    ) -> None:
        self._counting = counting
        self.plugins = list(plugins)
        self._mutating: list[MutatingPlugin] = [p for p in self.plugins if hasattr(p, "admit")]  # type: ignore[misc]
        self._validating: list[ValidatingPlugin] = [
            p  # type: ignore[misc]
            for p in self.plugins
            if hasattr(p, "validate")
        ]
        self._concerned: dict[tuple[object, ...], tuple[_Runs, _Runs]] = {}
        self._keeping: list[KeepingPlugin] = [p for p in self.plugins if hasattr(p, "forget")]  # type: ignore[misc]

    def forget(self, tenant: int) -> None:
        for plugin in self._keeping:
            plugin.forget(tenant)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        attributes.reinvocation = Reinvocation()
        await self._counted([(WHOLE, self._mutate)], ADMIT, attributes, lookup)

    async def _mutate(self, attributes: Attributes, lookup: Lookup) -> None:
        plugins = self._of(attributes)[0]
        await self._counted(plugins, ADMIT, attributes, lookup)
        if attributes.reinvocation.requested:
            attributes.reinvocation.again = True
            await self._counted(plugins, ADMIT, attributes, lookup)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        await self._counted([(WHOLE, self._check)], VALIDATE, attributes, lookup)

    async def _check(self, attributes: Attributes, lookup: Lookup) -> None:
        await self._counted(self._of(attributes)[1], VALIDATE, attributes, lookup)

    async def _counted(
        self, runs: _Runs, step: str, attributes: Attributes, lookup: Lookup
    ) -> None:
        took, operation = self._counting(attributes.tenant), attributes.operation
        began = perf_counter()
        for name, run in runs:
            rejected = True
            try:
                await run(attributes, lookup)
                rejected = False
            finally:
                ended = perf_counter()
                took(name, step, operation, rejected, ended - began)
            began = ended

    def _of(self, attributes: Attributes) -> tuple[_Runs, _Runs]:
        """What plugins that requests of that sort concern do in either step."""
        sort = (
            attributes.operation,
            attributes.kind,
            attributes.resource,
            attributes.subresource,
            not attributes.namespace,
            attributes.object is None,
            attributes.dry_run,
        )
        concerned = self._concerned.get(sort)
        if concerned is None:
            if len(self._concerned) >= _SORTS:
                self._concerned.clear()
            concerned = self._concerned[sort] = (
                [(p.name, p.admit) for p in self._mutating if p.handles(attributes)],
                [(p.name, p.validate) for p in self._validating if p.handles(attributes)],
            )
        return concerned
