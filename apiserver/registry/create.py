"""Create: POST, and PUT or apply of an object that is not there.

A name that the server makes up may be taken, and what an object claims may have been claimed by
another a moment ago: then the write is begun again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson

from apiserver.errors import AlreadyExists, Conflict, PlainError
from apiserver.golang.strconv import NumError, parse_uint
from apiserver.meta.names import generate_name
from apiserver.meta.objects import Object
from apiserver.registry import objectmeta, write
from apiserver.registry.core import Registry
from apiserver.registry.mutation import drop_doubled_owners
from apiserver.registry.offload import Asker
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.targets import NEW, New
from apiserver.registry.write import Request, Writing
from apiserver.storage.errors import Claimed, KeyExists, NeedMissing

ATTEMPTS = 8


async def create(
    registry: Registry, scope: Scope, obj: Object, request: Request, *, size: int = 0, uid: str = ""
) -> Stored:
    """POST. ``obj``: decoded and defaulted; ``size``: bytes that the client sent; ``uid``: that a
    controller has given the object, a new one by default. A resourceVersion is refused where the
    object would be stored, after everything else. Raises ApiError, StorageError."""
    target = New(uid) if uid else NEW
    asker = scope.asker(size)

    async def attempt(candidate: Object) -> Stored:
        objectmeta.wipe_system_fields(candidate["metadata"])
        await drop_doubled_owners(scope, asker, candidate)
        w = write.begin(registry, scope, request, target, candidate, None, asker)
        await write.manage(w)
        await write.mutate(w)
        return await _finish(w)

    return await _attempts(registry, scope, obj, attempt)


async def create_absent(
    registry: Registry, scope: Scope, obj: Object, request: Request, asker: Asker
) -> Stored:
    """PUT and apply of an object that is not there; ``obj``: as mutating admission left it. Whether
    the user may create it is asked once it is known to be valid, before validating admission
    (k8s.io/apiserver ``endpoints/handlers/create.go``, withAuthorization). Raises ApiError,
    StorageError."""

    async def attempt(candidate: Object) -> Stored:
        return await _finish(write.begin(registry, scope, request, NEW, candidate, None, asker))

    return await _attempts(registry, scope, obj, attempt)


async def _attempts(
    registry: Registry, scope: Scope, obj: Object, attempt: Callable[[Object], Awaitable[Stored]]
) -> Stored:
    metadata = obj["metadata"]
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    claiming = scope.resource.storage in registry.hooks
    for attempts_left in reversed(range(ATTEMPTS)):
        candidate = scope.resource.hooks.copy(obj) if generated or claiming else obj
        try:
            return await attempt(candidate)
        except AlreadyExists:
            if not generated or not attempts_left:
                raise
        except (Claimed, NeedMissing):
            if not attempts_left:
                raise Conflict(scope.resource.group_resource, metadata.get("name", "")) from None
            await registry.watches.fresh(scope.tenant.id, scope.resource.storage)
    raise AssertionError("unreachable")


async def _finish(w: Writing) -> Stored:
    """All that comes after mutating admission."""
    metadata = w.new["metadata"]
    given = metadata.get("resourceVersion")
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generate_name(metadata["generateName"])
    await write.prepare(w)
    await write.validate(w)
    if w.request.authorize_create is not None:
        await w.request.authorize_create()
    w.attributes.name = w.new["metadata"].get("name", "")
    with write.charged(w):
        await write.admit(w)
        return await _store(w, given)


async def _store(w: Writing, given: object) -> Stored:
    """``given``: a resourceVersion that the client sent."""
    metadata = w.new["metadata"]
    await write.settle(w)
    form = await write.encode(w)
    if w.request.dry_run:
        if await w.registry.store.get(w.scope.tenant.id, w.scope.key(metadata["name"])) is not None:
            raise await _already_exists(w)
        return await write.commit(w, form)
    if given and _is_version(given):
        raise PlainError("resourceVersion should not be set on objects to be created")
    try:
        begun_again = (Claimed, NeedMissing) if w.needs else (Claimed,)
        return await write.commit(w, form, passing=(KeyExists, *begun_again))
    except KeyExists:
        raise await _already_exists(w) from None


def _is_version(given: object) -> bool:
    """Whether a resourceVersion is one of the store's: what it cannot read, a create lets pass
    (k8s.io/apiserver ``storage/etcd3/store.go``)."""
    try:
        return parse_uint(str(given)) != 0
    except NumError:
        return False


async def _already_exists(w: Writing) -> AlreadyExists:
    metadata = w.new["metadata"]
    record = await w.registry.store.get(w.scope.tenant.id, w.scope.key(metadata["name"]))
    error = AlreadyExists(w.scope.resource.group_resource, metadata["name"])
    if metadata.get("generateName"):
        error.message += ", the server was not able to generate a unique name for the object"
        error.details = {**(error.details or {}), "retryAfterSeconds": 1}
    if (
        record is not None
        and b'"deletionTimestamp"' in record.data
        and orjson.loads(record.data)["metadata"].get("deletionTimestamp")
    ):
        error.message = f"object is being deleted: {error.message}"
    return error
