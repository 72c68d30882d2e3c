"""Names of custom resources belong to one definition of an API group at a time, whichever workers
accept them at the same moment."""

from __future__ import annotations

from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.definitions import names_of
from apiserver.registry.scope import Scope


class DefinitionHook:
    """apiserver.registry.core.Hook for CustomResourceDefinitions."""

    async def before_write(
        self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool
    ) -> str:
        """Nothing: who gets a name is decided by `apiserver.kinds.apiextensions.conditions`."""
        return ""

    def claims(self, obj: Object) -> tuple[str, ...]:
        group = obj["spec"]["group"]
        return tuple(
            f"crd/{group}/{name}"
            for name in sorted(names_of((obj.get("status") or {}).get("acceptedNames") or {}))
        )
