"""Field paths and sets of them, in the form in which FieldsV1 writes them.

A path element is its FieldsV1 text: ``f:<name>`` (member of an object), ``k:<json>`` (item of a
list, by its keys), ``v:<json>`` (item of a set, by its value), ``i:<n>`` (item of a list, by
index). A FieldSet is the trie of FieldsV1 itself, a dictionary from path element to the node below
it. A node that is ``{}`` or holds ``"."`` is a member of the set; the root is neither. Sets are
never changed once made, so they share nodes; empty inner nodes that are no members do not occur.
Source: structured-merge-diff, package ``fieldpath`` (set.go, element.go, serialize.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from itertools import chain
from typing import Any, TypeVar

import orjson

from apiserver.fieldmanager.values import rank, to_json, to_string
from apiserver.golang.json import number
from apiserver.golang.strconv import whole

FieldSet = dict[str, Any]
Path = tuple[str, ...]
Filter = Callable[[FieldSet], FieldSet]

LEAF: FieldSet = {}
"""The node of a member without members below it. Shared: never change it."""


class InvalidFields(ValueError):
    """FieldsV1 that is no field set."""


_MAX_REMEMBERED = 200
Answer = TypeVar("Answer")


def _remember_short(function: Callable[[str], Answer]) -> Callable[[str], Answer]:
    """A cache that passes over long texts, which one client could otherwise fill memory with."""
    cached = lru_cache(maxsize=20_000)(function)
    return wraps(function)(
        lambda text: cached(text) if len(text) <= _MAX_REMEMBERED else function(text)
    )


# --- path elements --------------------------------------------------------------------------------
def value_element(value: Any) -> str:
    return f"v:{to_json(value)}"


def key_element(*fields: Any) -> str:
    """``fields``: names and values of the keys that are set, in turn, sorted by name."""
    for value in fields[1::2]:
        cls = value.__class__
        if cls is dict or cls is list or (cls is str and len(value) > _MAX_REMEMBERED):
            return _key_element(*fields)
    return _remembered_key_element(*fields)


def _key_element(*fields: Any) -> str:
    members = ",".join(
        f'"{name}":{to_json(value)}' for name, value in zip(fields[::2], fields[1::2], strict=True)
    )
    return f"k:{{{members}}}"


_remembered_key_element = lru_cache(maxsize=20_000, typed=True)(_key_element)


@_remember_short
def order(element: str) -> tuple[Any, ...]:
    """A sort key with the order of PathElement.Compare: names, keys, values, indexes."""
    kind, text = element[:1], element[2:]
    if kind == "f":
        return (0, text)
    if kind == "k":
        return (1, tuple((name, rank(value)) for name, value in sorted(orjson.loads(text).items())))
    if kind == "v":
        return (2, rank(orjson.loads(text)))
    return (3, whole(text))


@_remember_short
def element_text(element: str) -> str:
    """How a person reads it: ``.name``, ``[name="x"]``, ``[="x"]``, ``[0]``."""
    kind, text = element[:1], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        keys = sorted(orjson.loads(text).items())
        return f"[{','.join(f'{name}={to_string(value)}' for name, value in keys)}]"
    if kind == "v":
        return f"[={to_string(orjson.loads(text))}]"
    return f"[{text}]"


def path_text(path: Path) -> str:
    return "".join(map(element_text, path))


def path_of(*names: str) -> Path:
    """A path of member names."""
    return tuple(f"f:{name}" for name in names)


# --- making sets ----------------------------------------------------------------------------------
def set_of(*paths: Path) -> FieldSet:
    result: FieldSet = {}
    for path in paths:
        insert(result, path)
    return result


def insert(target: FieldSet, path: Path) -> None:
    """Adds a path to a set that the caller has just made; the root path is no member of
    anything."""
    if not path:
        return
    for element in path[:-1]:
        below = target.get(element)
        if not below:
            below = {} if below is None else {".": LEAF}
            target[element] = below
        target = below
    last = path[-1]
    target[last] = as_member(target.get(last))


def as_member(node: FieldSet | None) -> FieldSet:
    """The node as a member of its set; None is a node that is not there."""
    if not node:
        return LEAF
    return node if "." in node else {".": LEAF, **node}


# --- set operations -------------------------------------------------------------------------------
def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """Works on sets and on nodes alike as long as both are of one kind; see _union_nodes."""
    if not b or a is b:
        return a
    if not a:
        return b
    result = dict(a)
    for element, node in b.items():
        mine = result.get(element)
        result[element] = node if mine is None else _union_nodes(mine, node)
    return result


def _union_nodes(a: FieldSet, b: FieldSet) -> FieldSet:
    if a == b:
        return a
    if not a:
        return as_member(b)
    if not b:
        return as_member(a)
    return union(a, b)


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for element, node in a.items():
        other = b.get(element)
        if other is None or element == ".":
            continue
        if node == other:
            result[element] = node
            continue
        below = intersection(node, other) if node and other else LEAF
        if (not node or "." in node) and (not other or "." in other):
            result[element] = as_member(below)
        elif below:
            result[element] = below
    return result


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """Members of ``a`` that are no members of ``b``; what lies below a member of ``b`` stays."""
    return _difference(a, b, False) if a and b else a


def recursive_difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """``a`` without the members of ``b`` and all that lies below them."""
    return _difference(a, b, True) if a and b else a


def _difference(a: FieldSet, b: FieldSet, recursive: bool) -> FieldSet:
    result: FieldSet = {}
    changed = False
    for element, node in a.items():
        other = b.get(element)
        if other is None or element == ".":
            result[element] = node
            continue
        if node == other:
            changed = True
            continue
        taken = not other or "." in other
        if recursive and taken:
            changed = True
            continue
        rest = _without_member(node) if taken else node
        if rest and other:
            rest = _below(_difference(rest, other, recursive), rest)
        if rest is None:
            changed = True
        else:
            result[element] = rest
            changed = changed or rest is not node
    return result if changed else a


def _without_member(node: FieldSet) -> FieldSet | None:
    if not node:
        return None
    if "." not in node:
        return node
    return {element: below for element, below in node.items() if element != "."} or None


def _below(rest: FieldSet, before: FieldSet) -> FieldSet | None:
    """The node ``before`` after its children became ``rest`` (which keeps "." where it was)."""
    if rest:
        return LEAF if len(rest) == 1 and "." in rest else rest
    return None


def has(fields: FieldSet, path: Path) -> bool:
    node: FieldSet | None = fields
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
    return bool(path) and (not node or "." in node)


def is_member(node: FieldSet | None) -> bool:
    """Whether a node that stands in a set is a member of it."""
    return node is not None and (not node or "." in node)


def members(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Paths in the order of Set.Iterate: the members of a level in order, then what lies below
    each."""
    elements = sorted((e for e in fields if e != "."), key=order)
    for element in elements:
        if is_member(fields[element]):
            yield (*prefix, element)
    for element in elements:
        if fields[element]:
            yield from members(fields[element], (*prefix, element))


def exclude(fields: FieldSet) -> Filter:
    """A filter that drops the set's members and all below them."""
    return lambda owned: recursive_difference(owned, fields)


# --- FieldsV1 -------------------------------------------------------------------------------------
@_remember_short
def _canonical(element: str) -> str | None:
    """A path element as this module writes it, None for a kind that is not known. Raises
    InvalidFields."""
    if len(element) < 2:
        raise InvalidFields("key must be 2 characters long:")
    if element[1] != ":":
        raise InvalidFields(f"missing colon: {element}")
    kind, text = element[0], element[2:]
    if kind == "f":
        return element
    try:
        if kind == "v":
            return value_element(orjson.loads(text))
        if kind == "k":
            fields = orjson.loads(text)
            if not isinstance(fields, dict):
                raise InvalidFields(f"expected an object: {text}")
            return key_element(*chain.from_iterable(sorted(fields.items())))
        if kind == "i":
            return f"i:{number(whole(text))}"
    except InvalidFields:
        raise
    except ValueError as error:
        raise InvalidFields(str(error)) from error
    return None


def _decode_text(text: bytes) -> FieldSet:
    fields: FieldSet = _decode_node(orjson.loads(text))[0] or {}
    return fields


_MAX_TEXT = 8_192
_remembered_text = lru_cache(maxsize=2_048)(_decode_text)


def decode(fields_v1: Any) -> FieldSet:
    """A set from FieldsV1 as it stands in an object. Raises InvalidFields. Equal input gives the
    identical set while it is remembered."""
    if fields_v1 is None:
        return LEAF
    try:
        text = orjson.dumps(fields_v1)
    except TypeError as error:
        raise InvalidFields(str(error)) from error
    return _remembered_text(text) if len(text) <= _MAX_TEXT else _decode_text(text)


def _decode_node(raw: Any) -> tuple[FieldSet | None, bool]:
    """(what is below, whether the node is a member); a node without anything below is a member."""
    if raw is None:
        return None, True
    if not isinstance(raw, dict):
        raise InvalidFields("expect { or n")
    result: FieldSet = {}
    member = False
    for key, below in raw.items():
        if key == ".":
            member = True
            continue
        element = _canonical(key)
        if element is None:
            continue
        children, is_child_member = _decode_node(below)
        if children is None:
            result[element] = as_member(result.get(element))
        else:
            result[element] = {".": LEAF, **children} if is_child_member else children
    if not result:
        return None, True
    return result, member


def encode(fields: FieldSet) -> FieldSet:
    """FieldsV1 with members in upstream's order ("." first); shares what is in order already."""
    elements = list(fields)
    ordered = sorted(elements, key=_encode_order) if len(elements) > 1 else elements
    result: FieldSet = {}
    shared = ordered == elements
    for element in ordered:
        node = fields[element]
        below = encode(node) if node else node
        shared = shared and below is node
        result[element] = below
    return fields if shared else result


def _encode_text(text: bytes) -> bytes:
    return orjson.dumps(encode(orjson.loads(text)))


_remembered_encoding = lru_cache(maxsize=2_048)(_encode_text)


def encode_text(text: bytes) -> bytes:
    """`encode`, from the JSON of a set to that of its FieldsV1: writes mostly leave a manager the
    set that it had."""
    return _remembered_encoding(text) if len(text) <= _MAX_TEXT else _encode_text(text)


def _encode_order(element: str) -> tuple[Any, ...]:
    return (-1,) if element == "." else order(element)
