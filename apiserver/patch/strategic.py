"""Strategic merge patch: merge by the schema's patch strategies, steered by directives in the
patch.

``$patch`` (replace, delete), ``$retainKeys``, ``$setElementOrder/<list>``,
``$deleteFromPrimitiveList/<list>``. Works on copies and consumes the copy of the patch while it
goes, as upstream does: what is left of it is what later errors quote. Source: k8s.io/apimachinery
``util/strategicpatch`` at v0.36; which error is a 400, 422 or 500: k8s.io/apiserver
``handlers/patch.go``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from apiserver.errors import BadRequest, PlainError
from apiserver.golang.fmt import go_type, go_value
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object, copy_json
from apiserver.patch.strategic_lists import (
    DIRECTIVE,
    ORDER,
    Items,
    check_order,
    delete_scalars,
    element_type,
    identity,
    in_order,
    left_by_go,
    merge_scalars,
    no_merge_key,
    wrong_type,
)
from apiserver.schema.types import Schema

RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
_BAD_LIST = "invalid patch format of primitive list"
_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_BAD_ORDER = "invalid patch format of setElementOrder list"


def apply_strategic_patch(doc: Object, patch: Object, schema: Schema) -> tuple[Object, Object]:
    """(patched object, what is left of the patch); no argument is changed.

    ``schema``: of the object's kind. The second value is for
    `apiserver.codec.strict.patch_invalid`, through `go_value`. Raises BadRequest (malformed
    directives), PatchRefused (lists of lists), PlainError (anything else)."""
    rest = copy_json(patch)
    return copy_json(_merge_map(copy_json(doc), rest, schema)), rest


@dataclass(frozen=True, slots=True)
class _Field:
    """One member as the schema has it: the node its value (or, for lists, each element) follows,
    and how it is merged."""

    schema: Schema | None
    strategy: str
    merge_key: str


def _field(schema: Schema | None, name: str) -> _Field:
    if schema is None or not (schema.is_struct() or schema.special):
        raise PlainError(
            f"merging an object in json but data type is not struct, instead is: {_go_kind(schema)}"
        )
    properties = schema.properties or {}
    node = properties.get(name)
    if node is None:
        node = next(
            (
                properties[other]
                for other in sorted(properties)
                if other.casefold() == name.casefold()
            ),
            None,
        )
    if node is None:
        raise PlainError(
            f"unable to find api field in struct {schema.go_struct} for the json field "
            f"{go_quote(name)}"
        )
    strategies = node.patch_strategy - {"retainKeys"}
    if len(strategies) > 1:
        raise PlainError(f"unexpected patch strategy: [{' '.join(sorted(node.patch_strategy))}]")
    return _Field(node, next(iter(strategies), ""), node.patch_merge_key)


def _list_field(schema: Schema | None, name: str) -> _Field:
    field = _field(schema, name)
    node = field.schema
    if node is None or node.items is None:
        raise PlainError(f"expected slice or array type, but got: {_go_kind(schema)}")
    if node.items.type == "array":
        raise PlainError("unexpected slice of slice")
    return _Field(node.items, field.strategy, field.merge_key)


def _go_kind(schema: Schema | None) -> str:
    if schema is None:
        return "interface"
    if schema.is_struct() or schema.special:
        return "struct"
    kinds = {
        "object": "map",
        "array": "slice",
        "string": "string",
        "boolean": "bool",
        "integer": schema.format or "int64",
        "number": "float64",
    }
    return kinds.get(schema.type, "interface")


def _merge_map(original: Object, patch: Object, schema: Schema | None) -> Object:
    if DIRECTIVE in patch:
        return _directed_map(patch)
    _retain_keys(original, patch)
    for key in [k for k in patch if k.startswith(ORDER)]:
        _merge_ordered(original, patch, key, schema)
    for key, value in list(patch.items()):
        if key.startswith(DELETE_FROM):
            _delete_from_list(original, _after_prefix(key, DELETE_FROM, _BAD_LIST), value, schema)
        elif value is None:
            original.pop(key, None)
        elif key not in original or type(original[key]) is not type(value):
            _drop_nulls(value)
            _take(original, key, value)
        elif isinstance(value, dict):
            field = _field(schema, key)
            original[key] = (
                value
                if field.strategy == "replace"
                else _merge_map(original[key], value, field.schema)
            )
        elif isinstance(value, list):
            original[key] = _merge_list(original[key], value, _list_field(schema, key))
        else:
            original[key] = value
    return original


def _directed_map(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        del patch[DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise _bad_directive(directive, patch)


def _bad_directive(directive: Any, patch: Object) -> PlainError:
    directive_text = directive if isinstance(directive, str) else _as_string(directive)
    return PlainError(f"unknown patch type: {directive_text} in map: {go_value(patch)}")


def _as_string(value: Any) -> str:
    """%s of what is no string."""
    return f"%!s({go_type(value)}={go_value(value)})" if value is not None else "%!s(<nil>)"


def _retain_keys(original: Object, patch: Object) -> None:
    if RETAIN_KEYS not in patch:
        return
    keys = patch.pop(RETAIN_KEYS)
    if not isinstance(keys, list):
        raise BadRequest(_BAD_RETAIN_KEYS)
    kept = {k for k in keys if isinstance(k, str)}
    for name, value in patch.items():
        if value is not None and name not in kept and not name.startswith((DELETE_FROM, ORDER)):
            raise BadRequest(_BAD_RETAIN_KEYS)
    for name in [n for n in original if n not in kept]:
        del original[name]


def _after_prefix(key: str, prefix: str, error: str) -> str:
    head, slash, rest = key.partition("/")
    if not slash or head != prefix:
        raise BadRequest(error)
    return rest


def _merge_ordered(original: Object, patch: Object, key: str, schema: Schema | None) -> None:
    """Merges the list that a $setElementOrder directive belongs to, and takes both out of the
    patch."""
    order = patch.pop(key)
    if not isinstance(order, list):
        raise wrong_type([], order)
    name = _after_prefix(key, ORDER, _BAD_ORDER)
    for source in (original, patch):
        if name in source and not isinstance(source[name], list):
            raise wrong_type([], source[name])
    live: Items = original.get(name, [])
    patched: Items = patch.get(name, [])
    field = _list_field(schema, name)
    check_order(patched, order, field.merge_key)
    if name in original and name in patch:
        before, live = (
            live,
            (left_by_go(live, patched, field.merge_key) if field.strategy == "merge" else live),
        )
        merged = _merge_list(before, patched, field)
    elif name in original:
        merged = live
    elif name in patch:
        merged = _without_directives(patched)
    else:
        return
    of_maps = element_type(live, patched) is dict
    original[name] = in_order(merged, order, live, field.merge_key, of_maps)
    patch.pop(name, None)


def _delete_from_list(original: Object, name: str, unwanted: Any, schema: Schema | None) -> None:
    if unwanted is None:
        original.pop(name, None)
        return
    if name not in original or type(original[name]) is not type(unwanted):
        return
    if isinstance(unwanted, list):
        original[name] = _merge_list(
            original[name], unwanted, _list_field(schema, name), deletes=True
        )
    elif isinstance(unwanted, dict):
        field = _field(schema, name)
        original[name] = (
            unwanted
            if field.strategy == "replace"
            else _merge_map(original[name], unwanted, field.schema)
        )
    else:
        original[name] = unwanted


def _merge_list(original: Items, patch: Items, field: _Field, *, deletes: bool = False) -> Items:
    if field.strategy != "merge" and not deletes:
        return patch
    if not original and not patch:
        return original
    of_maps = element_type(original, patch) is dict
    if not of_maps:
        if deletes:
            return delete_scalars(original, patch)
        merged = merge_scalars(original, patch)
    else:
        if not field.merge_key:
            raise PlainError(f"cannot merge lists without merge key for {_go_kind(field.schema)}")
        original, patch = _run_directives(original, patch, field.merge_key)
        merged = _merge_maps(original, patch, field)
    return in_order(merged, patch, original, field.merge_key, of_maps)


def _run_directives(original: Items, patch: Items, key: str) -> tuple[Items, Items]:
    """(live elements that stay, patch elements without directives)."""
    plain: Items = []
    deleted: set[Hashable] = set()
    replace = False
    for item in patch:
        directive = item.get(DIRECTIVE) if DIRECTIVE in item else ""
        if DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            if key not in item:
                raise no_merge_key(item, key)
            deleted.add(identity(item[key]))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise PlainError("merging lists cannot yet be specified in the patch")
        else:
            raise _bad_directive(directive, item)
    if deleted:
        original = [
            item for item in original if key not in item or identity(item[key]) not in deleted
        ]
    return (plain, []) if replace else (original, plain)


def _merge_maps(original: Items, patch: Items, field: _Field) -> Items:
    key = field.merge_key
    merged: Items = []
    places: dict[Hashable, deque[int]] = {}

    def take(item: Object) -> None:
        if key in item:
            places.setdefault(identity(item[key]), deque()).append(len(merged))
        merged.append(item)

    for item in original:
        take(item)
    for item in patch:
        if key not in item:
            raise no_merge_key(item, key)
        same = places.get(identity(item[key]))
        if not same:
            take(item)
            continue
        merged[same[0]] = _merge_map(merged[same[0]], item, field.schema)
        if key not in merged[same[0]]:  # $retainKeys, or null
            same.popleft()
    return merged


def _take(original: Object, key: str, value: Any) -> None:
    """A value that has nothing to merge with, without what is only meant for merging."""
    if isinstance(value, dict) and DIRECTIVE in value:
        original.pop(key, None)
    else:
        original[key] = _without_directives(value)


def _without_directives(value: Any) -> Any:
    """In place for maps, as the patch that errors quote changes too; a map with a directive
    vanishes from what holds it."""
    if isinstance(value, dict):
        for name, member in list(value.items()):
            if isinstance(member, dict) and DIRECTIVE in member:
                del value[name]
            else:
                value[name] = _without_directives(member)
    elif isinstance(value, list):
        return [
            _without_directives(v) for v in value if not (isinstance(v, dict) and DIRECTIVE in v)
        ]
    return value


def _drop_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for name in [n for n, member in value.items() if member is None]:
            del value[name]
        for member in value.values():
            _drop_nulls(member)
    elif isinstance(value, list):
        for item in value:
            _drop_nulls(item)
