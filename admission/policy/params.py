"""The parameters that a binding gives to its policy (k8s.io/apiserver ``policy/generic``
CollectParams)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from admission.attributes import Equivalent, Lookup, Served
from admission.policy.hooks import Binding, Hook
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.labels import LabelSelector, LabelSelectorError, selector_from_object
from apiserver.meta.objects import Object

MOST: Final = 1_000
"""Evaluations of policies of one kind for one request: a tenant's bindings times its parameters."""
MOST_MISSING: Final = 20
"""Parameters for which the database is asked because a cache lacks them; of others the cache's word
is taken, as kube-apiserver takes that of its informers for all."""
TOO_MANY: Final = f"more than {MOST} evaluations of policies would be needed for this request"


class ConfigurationError(Exception):
    """A policy or a binding cannot be obeyed as it is; the text is kube-apiserver's."""


class Params:
    """Of one request: what several policies or bindings ask for is looked for once."""

    def __init__(self, namespace: str, lookup: Lookup) -> None:
        self._namespace, self._lookup = namespace, lookup
        self._kinds: dict[GroupVersionKind, Served | None] = {}
        self._objects: dict[tuple[Any, ...], Sequence[Object]] = {}
        self._missing = 0

    def kind(self, hook: Hook) -> Served | None:
        """The resource of a policy's parameters, None where it takes none. Raises
        ConfigurationError."""
        kind = hook.params
        if kind is None:
            return None
        if kind not in self._kinds:
            self._kinds[kind] = self._lookup.kind(kind)
        served = self._kinds[kind]
        if served is None:
            raise ConfigurationError(f"failed to find resource referenced by paramKind: '{kind}'")
        return served

    async def of(
        self, served: Served | None, binding: Binding, most: int
    ) -> Sequence[Object | None]:
        """The policy is evaluated once with each of them, of which there may be ``most``. Raises
        ConfigurationError, ConversionFailed."""
        ref = binding.spec.get("paramRef")
        if served is None or ref is None:
            return [None]
        if not served.namespaced and ref.get("namespace"):
            raise ConfigurationError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        namespace = (ref.get("namespace") or self._namespace) if served.namespaced else ""
        if served.namespaced and not namespace:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped "
                "resources"
            )
        objects = await self._find(served, ref, namespace, most)
        if not objects and ref.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError(
                "no params found for policy binding with `Deny` parameterNotFoundAction"
            )
        return objects

    async def _find(
        self, served: Served, ref: Object, namespace: str, most: int
    ) -> Sequence[Object]:
        name, selector = ref.get("name") or "", None
        if not name:
            try:
                selector = selector_from_object(ref.get("selector"))
            except LabelSelectorError as error:
                raise ConfigurationError(str(error)) from None
        key = (served.kind, namespace, name, selector)
        objects = self._objects.get(key)
        if objects is None:
            stored = await self._stored(
                served, namespace, name if selector is None else selector, most + 1
            )
            if len(stored) <= most:
                to = Equivalent(served.resource, served.kind)
                convert = self._lookup.convert
                objects = [await convert(obj, served.resource, to) for obj in stored]
                self._objects[key] = objects
        if objects is None or len(objects) > most:
            raise ConfigurationError(TOO_MANY)
        return objects

    async def _stored(
        self, served: Served, namespace: str, which: LabelSelector | str, most: int
    ) -> Sequence[Object]:
        lookup, storage = self._lookup, served.storage
        if not isinstance(which, str):
            return await lookup.select(storage, namespace, which, most)
        param = await lookup.get(storage, namespace, which)
        if param is None and self._missing < MOST_MISSING:
            self._missing += 1  # a cache may lag behind what its writer knows
            param = await lookup.get(storage, namespace, which, fresh=True)
        return [] if param is None else [param]
