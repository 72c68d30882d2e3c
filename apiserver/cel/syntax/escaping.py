"""Names of properties as CEL identifiers: ``a.b`` is ``a__dot__b`` (k8s.io/apiserver
``pkg/cel/escaping.go``)."""

from __future__ import annotations

import re

from apiserver.cel.syntax.parser import RESERVED

_IDENTIFIER = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_EXPAND = re.compile(r"__|[-./]|[^a-zA-Z0-9\-./_]")
_UNEXPAND = re.compile(r"__[^_]+__")
_NAMES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_CHARACTERS = {escaped: character for character, escaped in _NAMES.items()}


def escape(name: str) -> str | None:
    """The identifier of a property, None when it has none."""
    if not name or name[0] in "0123456789":
        return None
    if name in RESERVED:
        return f"__{name}__"
    if "__" not in name and _IDENTIFIER.fullmatch(name):
        return name
    parts: list[str] = []
    at = 0
    for m in _EXPAND.finditer(name):
        replacement = _NAMES.get(m.group())
        if replacement is None:
            return None
        parts += [name[at : m.start()], replacement]
        at = m.end()
    return "".join(parts) + name[at:]


def unescape(identifier: str) -> str | None:
    """The name that an identifier escapes, itself where it escapes nothing; None for an escape that
    there is not, and for a reserved word's beside something else."""
    parts: list[str] = []
    at = 0
    for m in _UNEXPAND.finditer(identifier):
        character = _CHARACTERS.get(m.group())
        word = m.group()[2:-2]
        if character is None and (word not in RESERVED or m.group() != identifier):
            return None
        parts += [identifier[at : m.start()], word if character is None else character]
        at = m.end()
    return "".join(parts) + identifier[at:]
