"""The document of version 2 together with those of a tenant's other servers.

A definition that both have is one where they say the same, and may then be about the kinds of both
(``x-kubernetes-group-version-kind``); else theirs gets another name (``..._v2``), and so do their
references to it. What is here already is never changed by somebody else's server.
Source: k8s.io/kube-openapi ``pkg/aggregator`` (MergeSpecs).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import orjson

from apiserver.aggregation.swagger import SECTIONS, Node, Swagger, rename

_KINDS = "x-kubernetes-group-version-kind"


def merge(document: Node, others: Iterable[Swagger]) -> None:
    """Adds ``others`` to a document of version 2, whose parts may be encoded."""
    for other in others:
        theirs: Node = orjson.loads(other.body)
        renamed = {
            (section, name): new
            for section in SECTIONS
            for name in theirs[section]
            if (new := _name(document[section], theirs[section], name)) != name
        }
        rename(theirs, renamed)
        for section in SECTIONS:
            ours = document[section]
            for name, node in theirs[section].items():
                new = renamed.get((section, name), name)
                ours[new] = _joined(ours[new], node) if new in ours else node
        for path, item in theirs["paths"].items():
            document["paths"].setdefault(path, item)


def _name(ours: Node, theirs: Node, name: str) -> str:
    """The name that their ``name`` gets."""
    if name not in ours:
        return name
    definition = _bare(theirs[name])  # once: there may be many to compare it with
    if _bare(ours[name]) == definition:
        return name
    for number in count(2):
        new = f"{name}_v{number}"
        if new not in theirs and (new not in ours or _bare(ours[new]) == definition):
            return new
    raise AssertionError("numbers do not end")


def _bare(node: Any) -> Node:
    """Without its kinds, in which two that are alike may differ."""
    return {key: value for key, value in _plain(node).items() if key != _KINDS}


def _plain(node: Any) -> Node:
    plain: Node = node if isinstance(node, dict) else orjson.loads(orjson.dumps(node))
    return plain


def _joined(ours: Any, theirs: Node) -> Any:
    """One that is about the kinds of both."""
    plain, kinds = _plain(ours), theirs.get(_KINDS)
    before = plain.get(_KINDS, [])
    if not isinstance(kinds, list) or not isinstance(before, list):
        return ours
    present = set(map(_text, before))
    new = [kind for kind in kinds if _text(kind) not in present]
    return {**plain, _KINDS: [*before, *new]} if new else ours


def _text(kind: Any) -> bytes:
    return orjson.dumps(kind, option=orjson.OPT_SORT_KEYS)
