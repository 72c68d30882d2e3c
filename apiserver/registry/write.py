"""The write pipeline: every create, PUT, patch, apply and write of a subresource goes through these
stages, in this order.

    manage → mutate → prepare → validate → admit → settle → commit

`Writing` carries the object from stage to stage. What differs between writes is in strategies: how
the new object comes about (`apiserver.registry.changes`), and what of it is written
(`apiserver.registry.targets`). Who begins a write, and begins it again when another one came first,
is `apiserver.registry.create` and `apiserver.registry.update`. The order is that of
k8s.io/apiserver ``registry/generic/registry/store.go``, ``registry/rest/{create,update}.go``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType

from admission.attributes import Attributes
from apiserver.errors import Invalid
from apiserver.fielderrors import ErrorType, FieldError, FieldErrors
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.base import WriteContext
from apiserver.kinds.declarative.run import Gates, Subject
from apiserver.kinds.declarative.run import validate as validate_declared
from apiserver.meta.objects import Object
from apiserver.meta.values import value
from apiserver.registry import mutation
from apiserver.registry.core import Registry, write_of
from apiserver.registry.offload import Asker, by_size, large_to_validate, repeatable
from apiserver.registry.options import options_of
from apiserver.registry.result import Form, Stored
from apiserver.registry.rights import permission_errors
from apiserver.registry.scope import Scope
from apiserver.registry.targets import Target
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import to_store, with_manager
from apiserver.schema.empties import in_template_metadata, with_empties
from apiserver.storage.errors import ObjectTooLarge, StorageError


@value(frozen=True, slots=True)
class Request:
    """What is asked of a write beside the object. manager: the field manager; authorize_create: to
    be awaited before a PUT or an apply of an absent object creates it, raises Forbidden; options:
    as the client sent them (`WriteOptions.as_object`); verb: of a change, "update" or "patch";
    applies: whether it is a server-side apply."""

    manager: str
    dry_run: bool = False
    authorize_create: Callable[[], Awaitable[None]] | None = None
    options: Object = field(default_factory=dict)
    verb: str = "update"
    applies: bool = False


@dataclass(slots=True)
class Writing:
    """One attempt of one write. new: the object as the last stage left it; old: as it is stored, in
    the request's version (None: it is created); both are this attempt's own. asker: knows the size
    of the larger of what the client sent and what is stored."""

    registry: Registry
    scope: Scope
    request: Request
    target: Target
    new: Object
    old: Object | None
    asker: Asker
    attributes: Attributes
    context: WriteContext
    needs: str = ""


def begin(
    registry: Registry,
    scope: Scope,
    request: Request,
    target: Target,
    new: Object,
    old: Object | None,
    asker: Asker,
) -> Writing:
    """The first state of an attempt; ``target`` is a `New` exactly where ``old`` is
    None."""
    creates = old is None
    attributes = registry.attributes(
        scope,
        "CREATE" if creates else "UPDATE",
        scope.name or new["metadata"].get("name", ""),
        new,
        target.admitted_form(scope, old) if old is not None else None,
        dry_run=request.dry_run,
        options=options_of("CreateOptions" if creates else "UpdateOptions", request.options),
    )
    context = scope.context(dry_run=request.dry_run, field_manager=request.manager)
    return Writing(registry, scope, request, target, new, old, asker, attributes, context)


# --- stages ---------------------------------------------------------------------------------------
async def manage(w: Writing) -> None:
    """Who owns which field of the new object. Left out where the change has set managedFields
    itself. Raises ConversionFailed."""
    scope = w.scope

    def work(manager: FieldManager) -> Object:
        return manager.update(
            w.old,
            w.new,
            w.request.manager,
            api_version=scope.gvk.api_version,
            subresource=scope.subresource,
            now=scope.now,
            empties=scope.empties,
        )

    w.new = await with_manager(w.registry, scope, w.asker, work)


async def mutate(w: Writing) -> None:
    """Mutating admission, and that nobody grants more than they hold. Raises ApiError to refuse."""
    w.attributes.object = w.target.admitted_form(w.scope, w.new)
    admitted = await mutation.mutate(w.registry, w.scope, w.asker, w.attributes)
    w.new = w.target.taken(w.scope, w.new, admitted)


async def prepare(w: Writing) -> None:
    """What the server decides: system fields, the kind's strategy, what the kind needs of other
    objects. Raises ApiError to refuse."""
    await by_size(w.asker, lambda: w.target.prepare(w.scope, w.new, w.old, w.context))
    hook = w.registry.hooks.get(w.scope.resource.storage) if w.target.writes_object else None
    if hook is not None:
        w.needs = await hook.before_write(
            w.registry, w.scope, w.new, w.old, dry_run=w.request.dry_run
        )


async def validate(w: Writing) -> None:
    """All validation, the warnings, and the canonical form. Raises Invalid."""
    may_not = await permission_errors(w.registry, w.scope, w.request.verb, w.new, w.old)
    large = large_to_validate(w.scope.served.schema)
    sort = (w.scope.resource.storage, w.scope.version)
    await repeatable(w.asker, lambda: _validate(w, may_not), large, sort)


def _validate(w: Writing, may_not: FieldErrors) -> None:
    kind, new, empties = w.scope.resource.hooks, w.new, w.scope.empties
    errors = may_not + _errors(w, new)
    if empties and (errors or any(map(in_template_metadata, empties))):
        as_sent = _errors(w, with_empties(new, empties))
        errors = _reworded(errors, as_sent) if errors else as_sent
    if errors:
        raise Invalid(w.scope.kind_of(new), new["metadata"].get("name", ""), errors)
    for text in kind.warnings(new, w.old, w.context):
        w.scope.warn(text)
    kind.canonicalize(new)


def _errors(w: Writing, obj: Object) -> FieldErrors:
    errors = w.target.errors(w.scope, obj, w.old, w.context)
    errors = with_declared(w.registry.gates, w.scope, obj, w.old, errors)
    return errors or w.target.last_errors(w.scope, obj)


def _reworded(errors: FieldErrors, as_sent: FieldErrors) -> FieldErrors:
    """``errors`` as ``as_sent`` has them: the object with the empty lists and maps that were sent,
    which messages show. What is wrong does not depend on them."""
    texts: dict[tuple[ErrorType, str], deque[FieldError]] = {}
    for error in as_sent:
        texts.setdefault((error.type, error.path), deque()).append(error)
    return [alike.popleft() if (alike := texts.get((e.type, e.path))) else e for e in errors]


def with_declared(
    gates: Gates, scope: Scope, new: Object, old: Object | None, errors: FieldErrors
) -> FieldErrors:
    """``errors``: what hand-written rules found; those of the kind's declared rules join them."""
    declared = scope.resource.hooks.declared
    if declared is None:
        return errors
    subject = Subject(scope.resource.kind, scope.version, scope.schema, new, old, scope.subresource)
    return validate_declared(declared, subject, errors, gates)


async def admit(w: Writing) -> None:
    """Validating admission, of the object as it will be stored. Raises ApiError to refuse."""
    w.attributes.object = w.target.admitted_form(w.scope, w.new)
    await w.registry.chain.validate(w.attributes, w.registry.lookup(w.scope.tenant, w.asker))


class charged:
    """Around all that follows once quotas may have been charged for the write. One that comes to
    nothing, or whose client went away, has them counted again: perhaps it is stored after all."""

    __slots__ = ("_writing",)

    def __init__(self, w: Writing) -> None:
        self._writing = w

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        w = self._writing
        if error is not None and w.attributes.charged:
            w.registry.recount(w.scope.tenant.id, w.scope.namespace)


async def settle(w: Writing) -> None:
    """What storing changes about the object. Comes late: messages and webhooks tell an empty list
    from none."""
    resource, served = w.scope.resource, w.scope.served
    await by_size(w.asker, lambda: resource.settle(served, w.new))


async def encode(w: Writing) -> Form:
    """What is stored of the new object, and how it reads then. Raises ConversionFailed."""
    w.new["metadata"] = w.scope.resource.ordered_metadata(w.new["metadata"])
    return await to_store(w.registry, w.scope, w.new)


async def commit(
    w: Writing,
    form: Form,
    expected: int = 0,
    *,
    passing: tuple[type[StorageError], ...] = (),
) -> Stored:
    """Stores it, if what is stored is still at version ``expected`` (0: absent); a dry run is told
    what the tenant's limits would refuse, and stores nothing. An object that is too large with its
    managedFields is stored without them, unless somebody applies it (k8s.io/apiserver
    ``endpoints/handlers/{create,update,patch}.go``). Raises ApiError, and the errors
    ``passing``."""
    try:
        return await _commit(w, form, expected, (*passing, ObjectTooLarge))
    except ObjectTooLarge:
        if not w.request.applies and w.new["metadata"].pop("managedFields", None):
            form = await encode(w)
        return await _commit(w, form, expected, passing)


async def _commit(
    w: Writing, form: Form, expected: int, passing: tuple[type[StorageError], ...]
) -> Stored:
    scope, obj = w.scope, w.new
    resource = scope.resource
    key = scope.key(obj["metadata"]["name"])
    operation, needs = (
        ("update", w.needs) if w.old is not None else ("create", w.needs or resource.definition)
    )
    claims = w.registry.claims(resource, obj)
    write = write_of(operation, key, obj, form.data, expected, claims, needs)
    with storage_errors(scope, key.name, passing=passing):
        if w.request.dry_run:
            await w.registry.store.rehearse(scope.tenant.id, write)
            return Stored.of_object(form.answer)
        written = await w.registry.write(
            scope, write, form.answer, w.attributes.audit, w.request.manager
        )
    follower = w.registry.followers.get(resource.storage)
    if follower is not None and claims:
        before = w.registry.claims(resource, w.old) if w.old is not None else ()
        if not set(claims) <= set(before):
            await follower(scope.tenant, key, obj)
    return Stored.of_write(resource, scope.version, form, written)
