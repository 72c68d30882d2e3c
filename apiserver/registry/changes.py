"""Changes: how the new object of an update comes about. One strategy for each kind of client:
`Replace` (PUT), `Edit` (the server's own writes), patch and apply in `apiserver.registry.patching`,
Scales in `apiserver.registry.scaling`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.errors import NotFound
from apiserver.meta.objects import Object, copy_json
from apiserver.registry.core import Registry
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.scope import Scope


class Change:
    """One instance serves all attempts of one write.

    size: bytes that the client sent. uid_is_precondition: a uid in the new object must be the
    stored one's, or there is a conflict; otherwise it is a field that may not change.
    sets_managers: the new object's managedFields are as they shall be. creates: it may create the
    object; where only the kind allows that (``allow_create_on_update``), or nobody, it need not.
    """

    uid_is_precondition = True
    sets_managers = False
    creates = False

    def __init__(self, size: int = 0) -> None:
        self.size = size

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        """The new object, from the live one (None: absent), which stays as it is. Raises ApiError
        to refuse."""
        raise NotImplementedError


class Replace(Change):
    """PUT: the object as the client sent it."""

    def __init__(self, obj: Object, size: int) -> None:
        super().__init__(size)
        self._object = obj

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        # an attempt changes what it is given, and there may be another one
        new: Object = await by_size(asker, lambda: copy_json(self._object))
        return new


class Edit(Change):
    """What the server itself does to an object that is there. ``edit``: from a copy of the live
    object, which it may change, to the new one."""

    def __init__(
        self, edit: Callable[[Object], Awaitable[Object]], *, sets_managers: bool = False
    ) -> None:
        super().__init__()
        self._edit, self.sets_managers = edit, sets_managers

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        if old is None:
            raise NotFound(scope.resource.group_resource, scope.name)
        return await self._edit(await by_size(asker, lambda: copy_json(old)))
