"""OpenAPI documents of version 2 of the servers behind this one: what of them may go into a
tenant's own document.

Of each document the paths of one group and version are kept, and what they refer to, as text.
Clients read the merged document as a whole, and one part that they cannot read costs them all of
it; so a part that refers to nothing, or that cannot be written in protobuf, is left out.
Source: k8s.io/kube-aggregator ``pkg/controllers/openapi/aggregator``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from apiserver.codec import openapi_pb
from apiserver.meta.gvk import GroupVersion

Node = dict[str, Any]
MOST_FETCHED, MOST_KEPT = 2 * 1024 * 1024, 2 * 1024 * 1024
"""Bytes: of one server's document, and of what is kept of all of a tenant's servers."""
SECTIONS = ("definitions", "parameters")
_TYPES = frozenset({"array", "boolean", "integer", "number", "object", "string"})


class Malformed(ValueError):
    """A part of a document that clients could not read."""


@dataclass(frozen=True, slots=True)
class Swagger:
    """What one document says of one group and version. body: JSON with paths and SECTIONS; tag: of
    the body."""

    body: bytes
    tag: str


@dataclass(slots=True)
class Kept:
    """Of one server. etag: of its document, "" without one; digest: of what was read; versions:
    that were looked for."""

    etag: str = ""
    digest: bytes = b""
    versions: frozenset[GroupVersion] = frozenset()
    parts: Mapping[GroupVersion, Swagger] = field(default_factory=dict)


def read(document: Any, versions: Collection[GroupVersion]) -> dict[GroupVersion, Swagger]:
    """Of those of ``versions`` that it describes well, as many as may be kept: each may refer to
    all that the document has."""
    if not isinstance(document, dict) or document.get("swagger") != "2.0":
        return {}
    parts, room = dict[GroupVersion, Swagger](), MOST_KEPT
    for gv in sorted(versions):
        try:
            part = _part(document, gv)
        except Malformed:
            continue
        if part is None:
            continue
        room -= len(part.body)
        if room < 0:
            break
        parts[gv] = part
    return parts


def _part(document: Node, gv: GroupVersion) -> Swagger | None:
    """None where it has no path of the version. Raises Malformed."""
    prefix = f"/apis/{gv.group}/{gv.version}/"
    paths = {p: item for p, item in _dict(document.get("paths")).items() if p.startswith(prefix)}
    if not paths:
        return None
    if not all(isinstance(item, dict) for item in paths.values()):
        raise Malformed("a path is no object")
    part: Node = {"paths": paths, "definitions": {}, "parameters": {}}
    todo: list[Any] = [paths]
    while todo:
        for section, name in references(todo.pop()):
            if name in part[section]:
                continue
            node = _dict(document.get(section)).get(name)
            if not isinstance(node, dict):
                raise Malformed(f"{section} has no {name}")
            part[section][name] = node
            todo.append(node)
    for schema in part["definitions"].values():
        _check_schema(schema)
    return _written(part)


def _written(part: Node) -> Swagger:
    """Raises Malformed."""
    try:
        body = orjson.dumps(part, option=orjson.OPT_SORT_KEYS)
        openapi_pb.encode_document({"swagger": "2.0", "info": {"title": "", "version": ""}, **part})
    except Exception as error:  # whatever an encoder trips over: the document is somebody else's
        raise Malformed(str(error)) from None
    return Swagger(body, hashlib.sha256(body).hexdigest())


def references(node: Any) -> Iterator[tuple[str, str]]:
    """(section, name) of all that a part of a document refers to. Raises Malformed for what is
    outside of SECTIONS."""
    for holder in _referring(node):
        yield target(holder["$ref"])


def target(reference: str) -> tuple[str, str]:
    """Raises Malformed."""
    mark, _, rest = reference.partition("/")
    section, slash, name = rest.partition("/")
    if mark != "#" or section not in SECTIONS or not slash or "/" in name or "%" in name:
        raise Malformed(f"{reference} leads nowhere")
    return section, name.replace("~1", "/").replace("~0", "~")


def rename(node: Any, names: Mapping[tuple[str, str], str]) -> None:
    """Changes the references of ``node`` to what has got another name."""
    for holder in _referring(node):
        section, name = target(holder["$ref"])
        if (section, name) in names:
            new = names[section, name].replace("~", "~0").replace("/", "~1")
            holder["$ref"] = f"#/{section}/{new}"


def _referring(node: Any) -> Iterator[Node]:
    """The objects with a reference: a property of that name is no text."""
    todo = [node]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def _check_schema(schema: Any) -> None:
    """Raises Malformed for one that clients take for no schema (kube-openapi ``util/proto``)."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if not isinstance(node, dict):
            raise Malformed("a schema is no object")
        if node.get("type", "object") not in _TYPES:
            raise Malformed(f"{node['type']} is no type")
        if node.get("type") == "array" and not isinstance(node.get("items"), dict):
            raise Malformed("an array has no items")
        todo += _dict(node.get("properties")).values()
        todo += [node["items"]] if "items" in node else []
        if not isinstance(node.get("additionalProperties", True), bool):
            todo.append(node["additionalProperties"])


def _dict(value: Any) -> Node:
    return value if isinstance(value, dict) else {}
