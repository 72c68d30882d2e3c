"""The admission chain: which plugins run, in which order, in both phases.

The order is kube-apiserver's recommended one (``kubeapiserver/options/plugins.go``). Mutating plugins see each other's changes; validating
plugins see the final object. A plugin that is told about a subresource or an operation that it has no interest in returns at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from admission.attributes import Attributes, Lookup


class Plugin(Protocol):
    """name: as in --enable-admission-plugins. handles: whether the request concerns the plugin, without I/O."""

    name: str

    def handles(self, attributes: Attributes) -> bool: ...


class MutatingPlugin(Plugin, Protocol):
    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        """Changes attributes.object; raises ApiError to refuse."""


class ValidatingPlugin(Plugin, Protocol):
    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Raises ApiError to refuse."""


class Chain:
    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self.plugins = list(plugins)
        self._mutating: list[MutatingPlugin] = [p for p in self.plugins if hasattr(p, "admit")]  # type: ignore[misc]
        self._validating: list[ValidatingPlugin] = [p for p in self.plugins if hasattr(p, "validate")]  # type: ignore[misc]

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        for plugin in self._mutating:
            if plugin.handles(attributes):
                await plugin.admit(attributes, lookup)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        for plugin in self._validating:
            if plugin.handles(attributes):
                await plugin.validate(attributes, lookup)
