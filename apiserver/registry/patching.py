"""PATCH: JSON patch, merge patch, strategic merge patch and apply, each a change under the update
loop.

Source: k8s.io/apiserver ``endpoints/handlers/patch.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from apiserver.codec import body, json, patches, strict
from apiserver.errors import InternalError, NotFound
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta import raw
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object, copy_json
from apiserver.registry.changes import Change
from apiserver.registry.core import Registry
from apiserver.registry.objectmeta import check_name, ensure_namespace
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.options import WriteOptions
from apiserver.registry.patchtypes import Applying, Decode, Merging, PatchType
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.update import update
from apiserver.registry.versions import with_manager
from apiserver.registry.write import Request
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError
from apiserver.schema.definitions import META
from apiserver.schema.types import Schema


@dataclass(slots=True)
class Patch:
    """body: as sent."""

    type: PatchType
    body: bytes
    manager: str
    options: WriteOptions

    @property
    def is_apply(self) -> bool:
        return isinstance(self.type, Applying)


async def patch(
    registry: Registry,
    scope: Scope,
    patch: Patch,
    *,
    authorize_create: Callable[[], Awaitable[None]],
) -> Stored:
    request = Request(
        patch.manager,
        patch.options.dry_run,
        authorize_create,
        patch.options.as_object(),
        verb="patch",
        applies=patch.is_apply,
    )
    return await update(registry, scope, change_of(scope, patch), request)


def change_of(scope: Scope, patch: Patch) -> Change:
    return Apply(scope, patch) if patch.is_apply else Merge(scope, patch)


class Merge(Change):
    """A JSON, merge or strategic merge patch of the live object."""

    uid_is_precondition = False

    def __init__(self, scope: Scope, patch: Patch) -> None:
        super().__init__(patch.type.weight(patch.body, scope.schema))
        self._merge = merger(scope, patch, scope.schema)

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        if old is None:
            raise NotFound(scope.resource.group_resource, scope.name)
        return await by_size(asker, lambda: self._merged(scope, old))

    def _merged(self, scope: Scope, old: Object) -> Object:
        new = self._merge(old, _same_kind, scope.decode)
        check_name_and_namespace(scope, new)
        if not new.get("apiVersion"):  # of a custom object, whose decoder does not mind
            raise InternalError(
                "Object 'apiVersion' is missing in 'object has no apiVersion field'"
            )
        return new


class Apply(Change):
    """Server-side apply, which may create the object, but no subresource of one."""

    uid_is_precondition = False
    sets_managers = True

    def __init__(self, scope: Scope, patch: Patch) -> None:
        super().__init__(patch.type.weight(patch.body, scope.schema))
        self.creates = not scope.subresource
        self._patch = patch
        self._configuration: tuple[Object, str] | None = None

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        if self._configuration is None:
            self._configuration = await by_size(asker, lambda: read_applied(self._patch))
        return await with_manager(
            registry, scope, asker, lambda manager: self._applied(scope, manager, old)
        )

    def _applied(self, scope: Scope, manager: FieldManager, old: Object | None) -> Object:
        assert self._configuration is not None, "make has read it"
        configuration, strict_error = self._configuration
        live = old if old is not None else {}
        if not scope.resource.has_go_type:
            # decoding into a type makes a new object; otherwise what is merged is decoded in place
            live, configuration = copy_json(live), copy_json(configuration)
        merged = manager.merge(
            live,
            configuration,
            self._patch.manager,
            force=bool(self._patch.options.force),
            api_version=scope.gvk.api_version,
            subresource=scope.subresource,
            now=scope.now,
            empties=scope.empties,
        )
        report_strict(scope, self._patch, strict_error)
        # what nobody changes gets no defaults of the request's version, which storing would drop
        as_it_is = merged.finished or (old is not None and not scope.resource.has_go_type)
        new = merged.object if as_it_is else scope.decode(merged.object)[0]
        check_name_and_namespace(scope, new)
        return new


Check = Callable[[Scope, Any, Callable[[], str]], None]


def merger(scope: Scope, patch: Patch, schema: Schema) -> Callable[[Object, Check, Decode], Object]:
    """A function that patches an object of ``schema``, looks at the result and decodes it. The
    patch itself is decoded once, and only when there is an object. Raises BadRequest, Invalid,
    PatchRefused, RequestEntityTooLarge."""
    validation, merging = strict.directive(patch.options.field_validation), patch.type
    assert isinstance(merging, Merging), "an apply has no merger"
    decoded: tuple[Any, list[str]] | None = None
    way = raw.way_of(scope.resource.hooks.raw_fields)

    def merge(old: Object, check: Check, decode: Decode) -> Object:
        nonlocal decoded
        if decoded is None:
            decoded = merging.decode(patch.body, check=validation != strict.IGNORE)
        tree, duplicates = decoded
        patched, patched_text = merging.apply(raw.plain(old, way) if way else old, tree, schema)
        if way and merging.from_text:
            patched = raw.patched(patched_text(), old, way)
        if merging.from_text:
            check(scope, patched, patched_text)
        in_text = merging.from_text and scope.resource.has_go_type
        try:
            if in_text and not patched.get("apiVersion"):
                new, unknown = _read_internal(patched_text(), decode)
            else:
                new, unknown = merging.read(patched, schema, decode)
                if in_text and len(unknown) > 1:
                    unknown = decode(json.loads(patched_text().encode())[0])[1]
        except DecodeError as e:
            text = patched_text()
            why = _first_error(text, decode, e) if merging.from_text else str(e)
            raise strict.patch_invalid(text, why) from None
        problems = [*duplicates, *unknown]
        scope.report(problems, validation, lambda: strict.reject_patch(problems, patched_text()))
        return new

    return merge


def _read_internal(text: str, decode: Decode) -> tuple[Object, list[str]]:
    """What has no apiVersion is read as the type that kube-apiserver works with inside, whose
    members have none of the names that JSON has: but for those of the metadata, which that type
    embeds. Raises DecodeError."""
    members = json.loads(text.encode())[0]
    known = builtin.definition(META + "ObjectMeta").properties or {}
    unknown = [name for name in members if name not in known and name not in ("kind", "apiVersion")]
    metadata = {name: value for name, value in members.items() if name in known}
    return decode({"metadata": metadata})[0], [f'unknown field "{name}"' for name in unknown]


def _first_error(text: str, decode: Decode, error: DecodeError) -> str:
    """``error`` is about the patched value; which of several comes first, the order of its text
    tells."""
    try:
        decode(json.loads(text.encode())[0])
    except DecodeError as first:
        return str(first)
    return str(error)


def _same_kind(scope: Scope, patched: Any, patched_text: Callable[[], str]) -> None:
    """As `check_kind`; of a custom object that has a kind, validation says whether it is right."""
    if scope.resource.has_go_type:
        check_kind(scope.gvk, patched, patched_text)
    elif not _kind_of(patched, patched_text)[1]:
        text = patched_text()
        raise strict.patch_invalid(text, f"Object 'Kind' is missing in '{text}'")


def check_kind(
    gvk: GroupVersionKind, patched: Any, patched_text: Callable[[], str], scheme: str = body.SCHEME
) -> None:
    """A patch may not turn what is ``gvk`` into something of another kind; what has no kind any
    more is taken for what it was. Raises Invalid."""
    api_version, kind = _kind_of(patched, patched_text)
    kind, own = kind or gvk.kind, scheme == body.SCHEME
    if not api_version and own:  # the type that works inside (`_read_internal`)
        if kind != gvk.kind:
            raise strict.patch_invalid(patched_text(), body.not_internal(gvk.group, kind))
        return
    api_version = api_version or gvk.api_version
    if (api_version, kind) != (gvk.api_version, gvk.kind):
        claimed = GroupVersionKind(*GroupVersion.parse(api_version), kind)
        known = own and builtin.has_go_type(claimed)
        why = body.not_converted(claimed, gvk) if known else body.not_registered(claimed, scheme)
        raise strict.patch_invalid(patched_text(), why)


def _kind_of(patched: Any, patched_text: Callable[[], str]) -> tuple[str, str]:
    """(apiVersion, kind). Raises Invalid."""
    try:
        return body.read_kind(patched)
    except body.BodyError as error:
        raise strict.patch_invalid(patched_text(), str(error)) from None


def read_applied(patch: Patch) -> tuple[Object, str]:
    """The applied configuration, and what a strict reader would not have taken ("": nothing).
    Raises BadRequest."""
    assert isinstance(patch.type, Applying), "only an apply has a configuration"
    return patch.type.decode(patch.body)


def report_strict(scope: Scope, patch: Patch, strict_error: str) -> None:
    """Of `read_applied`, once all else is well. Raises BadRequest."""
    problems = [strict_error] if strict_error else []
    validation = patch.options.field_validation
    scope.report(problems, validation, lambda: patches.reject_apply(strict_error))


def check_name_and_namespace(scope: Scope, obj: Object) -> None:
    ensure_namespace(obj["metadata"], scope.namespace)
    check_name(obj, scope.name)
