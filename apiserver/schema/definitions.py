"""OpenAPI definitions of the built-in types, as kube-apiserver publishes them in version 2 of
OpenAPI.

The definitions come from the PyPI package ``kubernetes-validate`` (release 1.36). That package
rewrites them for JSON Schema validators: ``type: [x, null]``, references into ``$defs``,
enumerations of ``apiVersion`` and ``kind``, ``oneOf`` for quantities. All of that is undone here,
one definition at a time and at its first use, because a process touches few of the 771. What the
package leaves out (defaults, and types that appear in no OpenAPI document, such as
``CreateOptions``) comes from the files in ``data/``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RELEASE = "v1.36.0"
DATA = Path(__file__).parent / "data"

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_INSTEAD: Mapping[str, dict[str, Any]] = {
    QUANTITY: {"type": "string"},
    INT_OR_STRING: {"format": "int-or-string", "type": "string"},
}
_MAP = re.compile(r"map\[[^\]]+\]")
_TYPE_META = frozenset({"apiVersion", "kind"})


class Definitions(Mapping[str, dict[str, Any]]):
    """Definition name → OpenAPI v2 dictionary; never change what it returns."""

    __slots__ = ("_clean", "_defaults", "_extra", "_source")

    def __init__(
        self, source: dict[str, Any], defaults: dict[str, dict[str, Any]], extra: dict[str, Any]
    ) -> None:
        self._source = source
        self._defaults = defaults
        self._extra = extra
        self._clean: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        definition = self._clean.get(name)
        if definition is None:
            definition = self._clean[name] = self._make(name)
        return definition

    def __contains__(self, name: object) -> bool:
        return name in self._source or name in self._extra

    def __iter__(self) -> Iterator[str]:
        yield from self._source
        yield from self._extra

    def __len__(self) -> int:
        return len(self._source) + len(self._extra)

    def group_version_kinds(self, name: str) -> list[dict[str, str]]:
        """The kinds of a definition, without the cost of cleaning it."""
        definition = self._source.get(name) or self._extra[name]
        kinds: list[dict[str, str]] = definition.get("x-kubernetes-group-version-kind", [])
        return kinds

    def _make(self, name: str) -> dict[str, Any]:
        if name in self._extra:
            definition: dict[str, Any] = self._extra[name]
            return definition
        clean = _clean(self._source[name]) | _INSTEAD.get(name, {})
        clean.pop("oneOf", None)
        for member, default in self._defaults.get(name, {}).items():
            clean["properties"][member]["default"] = default
        return clean


def _clean(node: dict[str, Any]) -> dict[str, Any]:
    """One schema without what the package added to it."""
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "type" and isinstance(value, list):
            out[key] = value[0]
        elif key == "$ref":
            out[key] = "#/definitions/" + value.rsplit("/", 1)[1]
        elif key == "properties":
            out[key] = {name: _clean_member(name, member) for name, member in value.items()}
        elif isinstance(value, dict) and key in ("items", "additionalProperties"):
            out[key] = _clean(value)
        else:
            out[key] = value
    return out


def _clean_member(name: str, member: dict[str, Any]) -> dict[str, Any]:
    clean = _clean(member)
    if name in _TYPE_META:
        clean.pop("enum", None)
    return clean


def load_data(name: str) -> dict[str, Any]:
    """One JSON file of ``data/``."""
    data: dict[str, Any] = json.loads((DATA / name).read_bytes())
    return data


@cache
def go_types() -> Mapping[str, Mapping[str, str]]:
    """Definition → member → flags, a space, the Go type (`apiserver.schema.builtin`); members in
    the order of the Go struct."""
    return load_data("go-types.json")


def value_shape(go_type: str) -> str:
    """Of the values of a Go map."""
    return _MAP.sub("", go_type, count=1)


@cache
def raw_definitions() -> Definitions:
    """Every definition, built-in and of our own making. Raises ImportError where
    ``kubernetes-validate`` is not installed."""
    spec = find_spec("kubernetes_validate")
    if spec is None or spec.origin is None:
        raise ImportError(
            "the package kubernetes-validate is not installed; it holds the definitions of the "
            "built-in types"
        )
    path = (
        Path(spec.origin).parent
        / "kubernetes-json-schema"
        / f"{RELEASE}-local"
        / "_definitions.json"
    )
    return Definitions(
        json.loads(path.read_bytes())["$defs"],
        load_data("openapi-defaults.json"),
        load_data("extra-definitions.json"),
    )
