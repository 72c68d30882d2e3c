"""PATCH: JSON patch, merge patch, strategic merge patch and apply, each a change under the update loop.

Source: k8s.io/apiserver ``endpoints/handlers/patch.go``.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from admission.attributes import Object
from apiserver.codec import json as json_codec
from apiserver.codec import negotiate, patches, strict
from apiserver.errors import NotFound
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta.objects import copy_json
from apiserver.patch.govalue import go_value
from apiserver.patch.jsonpatch import apply_json_patch
from apiserver.patch.merge import apply_merge_patch
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.registry.core import DecodeError, Registry
from apiserver.registry.objectmeta import check_name, ensure_namespace
from apiserver.registry.offload import by_size
from apiserver.registry.options import WriteOptions
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.update import Change, Request, update
from apiserver.registry.versions import with_manager
from apiserver.schema.types import Schema


@dataclass(slots=True)
class Patch:
    """media_type: of the patch; body: as sent."""

    media_type: str
    body: bytes
    manager: str
    options: WriteOptions


async def patch(registry: Registry, scope: Scope, wanted: Patch, *, before_create: Callable[[], Awaitable[None]]) -> Stored:
    scope.size = len(wanted.body)
    if wanted.media_type in (negotiate.APPLY_YAML, negotiate.APPLY_CBOR):
        return await _apply(registry, scope, wanted, before_create)
    change = _merging(scope, wanted)
    request = Request(manager=wanted.manager, dry_run=wanted.options.dry_run, uid_precondition=False)
    return await update(registry, scope, change, request)


def _merging(scope: Scope, wanted: Patch) -> Change:
    """A change that patches the live object."""
    merge = merger(scope, wanted, scope.schema)

    async def change(old: Object | None) -> Object:
        if old is None:
            raise NotFound(scope.resource.group_resource, scope.name)
        return await by_size(scope.size, lambda: merged(old))

    def merged(old: Object) -> Object:
        new = merge(old, _same_kind, scope.decode)
        check_name_and_namespace(scope, new)
        return new

    return change


Decode = Callable[[Any], tuple[Object, list[str]]]
"""From a patched object to the decoded one and its unknown fields. Raises DecodeError."""
Check = Callable[[Scope, Any, Callable[[], str]], None]


def merger(scope: Scope, wanted: Patch, schema: Schema) -> Callable[[Object, Check, Decode], Object]:
    """A function that patches an object of ``schema``, looks at the result and decodes it. The patch itself is decoded once, and only when
    there is an object. Raises BadRequest, Invalid, PatchRefused, RequestEntityTooLarge."""
    validation = strict.directive(wanted.options.field_validation)
    prepare = cache(lambda: _prepared(schema, wanted, check=validation != strict.IGNORE))

    def merge(old: Object, check: Check, decode: Decode) -> Object:
        apply, duplicates = prepare()
        patched, shown = apply(old)
        if wanted.media_type != negotiate.STRATEGIC_PATCH:
            check(scope, patched, shown)
        try:
            new, unknown = decode(patched)
        except DecodeError as e:
            raise strict.patch_invalid(shown(), _conversion_text(wanted, str(e))) from None
        problems = [*duplicates, *unknown]
        if problems and validation == strict.STRICT:
            raise strict.reject_patch(problems, shown())
        if problems and validation == strict.WARN:
            for text in strict.warnings_of(problems):
                scope.warn(text)
        return new

    return merge


def _same_kind(scope: Scope, patched: Any, shown: Callable[[], str]) -> None:
    """A patch may not turn the object into one of another kind; one without a kind is taken for what it was."""
    if scope.resource.custom or not isinstance(patched, dict):
        return  # of a custom object, validation says so
    found = (patched.get("apiVersion", ""), patched.get("kind") or scope.gvk.kind)
    if found != (scope.gvk.api_version, scope.gvk.kind):
        text = f"converting ({found[0]}, Kind={found[1]}) to ({scope.gvk}): unknown conversion"
        raise strict.patch_invalid(shown(), text)


_GO_TYPE = re.compile(r"of type (\S+)$")


def _conversion_text(wanted: Patch, text: str) -> str:
    """Strategic patches are converted from maps, not decoded from JSON: the converter names only the type that it wanted."""
    found = _GO_TYPE.search(text)
    return f"unrecognized type: {found[1]}" if wanted.media_type == negotiate.STRATEGIC_PATCH and found else text


Apply = Callable[[Object], tuple[Any, Callable[[], str]]]
"""From the live object to the patched one and to the text that errors show."""


def _prepared(schema: Schema, wanted: Patch, *, check: bool) -> tuple[Apply, list[str]]:
    if wanted.media_type == negotiate.STRATEGIC_PATCH:
        patch, errors = patches.decode_strategic_patch(wanted.body, check=check)
        return lambda old: _strategic(old, patch, schema), errors
    if wanted.media_type == negotiate.MERGE_PATCH:
        patch, errors = patches.decode_merge_patch(wanted.body, check=check)
        return lambda old: _with_text(apply_merge_patch(old, patch)), errors
    operations, errors = patches.decode_json_patch(wanted.body, check=check)
    return lambda old: _with_text(apply_json_patch(old, operations)), errors


def _strategic(old: Object, patch: Object, schema: Schema) -> tuple[Any, Callable[[], str]]:
    patched, rest = apply_strategic_patch(old, patch, schema)
    return patched, lambda: go_value(rest)


def _with_text(patched: Any) -> tuple[Any, Callable[[], str]]:
    return patched, lambda: json_codec.encode(patched).decode()


async def _apply(registry: Registry, scope: Scope, wanted: Patch, before_create: Callable[[], Awaitable[None]]) -> Stored:
    options = wanted.options
    prepare = cache(lambda: read_applied(wanted))

    async def change(old: Object | None) -> Object:
        await by_size(scope.size, prepare)
        return await with_manager(registry, scope, lambda manager: apply(manager, old))

    def apply(manager: FieldManager, old: Object | None) -> Object:
        applied, strict_error = prepare()
        merged = manager.apply(
            copy_json(old) if old is not None else {},
            copy_json(applied),
            wanted.manager,
            force=bool(options.force),
            api_version=scope.gvk.api_version,
            subresource=scope.subresource,
            now=scope.now,
        )
        report_strict(scope, wanted, strict_error)
        new = scope.decode(merged)[0]
        check_name_and_namespace(scope, new)
        return new

    request = Request(
        manager=wanted.manager,
        dry_run=options.dry_run,
        allow_create=not scope.subresource,
        before_create=before_create,
        managed=True,
        uid_precondition=False,
    )
    return await update(registry, scope, change, request)


def read_applied(wanted: Patch) -> tuple[Object, str]:
    """The applied configuration, and what a strict reader would not have taken ("": nothing). Raises BadRequest."""
    if wanted.media_type == negotiate.APPLY_CBOR:
        return patches.decode_apply_cbor(wanted.body), ""
    return patches.decode_apply_patch(wanted.body)


def report_strict(scope: Scope, wanted: Patch, strict_error: str) -> None:
    """What a strict reader would not have taken, as the client wants to hear of it: once all else is well. Raises BadRequest."""
    validation = strict.directive(wanted.options.field_validation)
    if strict_error and validation == strict.STRICT:
        raise patches.reject_apply(strict_error)
    if strict_error and validation == strict.WARN:
        for text in strict.warnings_of([strict_error]):
            scope.warn(text)


def check_name_and_namespace(scope: Scope, obj: Object) -> None:
    ensure_namespace(obj["metadata"], scope.namespace)
    check_name(obj, scope.name)
