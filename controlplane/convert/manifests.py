"""Manifests: files of YAML or JSON documents, read, converted to served versions, and checked.

Only objects of the built-in groups are looked at; everything else passes through as it is.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from apiserver.kinds import catalog
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object
from controlplane.convert.removals import removals
from controlplane.convert.rule import Conversion

SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class ManifestError(ValueError):
    """A file that cannot be read as YAML or JSON, or an object that cannot be converted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One object in a version that is removed or deprecated. what: version, kind and name; text:
    since when, and what to use instead."""

    what: str
    text: str
    removed: bool


class _Loader(yaml.CSafeLoader):
    """Leaves timestamps as they are written: in manifests they are text."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read(text: str) -> list[Any]:
    """All documents of a file. Raises ManifestError."""
    try:
        return [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
    except yaml.YAMLError as e:
        raise ManifestError(f"no YAML: {' '.join(str(e).split())}") from None


def write(documents: list[Any], *, as_json: bool) -> str:
    if as_json:
        whole = (
            documents[0]
            if len(documents) == 1
            else {"apiVersion": "v1", "kind": "List", "items": documents}
        )
        return json.dumps(whole, indent=2, default=str) + "\n"
    return "---\n".join(
        yaml.dump(d, Dumper=_Dumper, sort_keys=False, allow_unicode=True) for d in documents
    )


class _Dumper(yaml.SafeDumper):
    """Without anchors: a converted manifest says everything where it stands."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def kind_of(document: Any) -> GroupVersionKind | None:
    """None for what is no Kubernetes object."""
    if (
        not isinstance(document, dict)
        or not isinstance(document.get("kind"), str)
        or not isinstance(document.get("apiVersion"), str)
    ):
        return None
    try:
        return GroupVersionKind(*GroupVersion.parse(document["apiVersion"]), document["kind"])
    except ValueError:
        return None


def objects(document: Any) -> Iterator[Object]:
    """The objects of a document: itself, or the items of a List."""
    if (
        isinstance(document, dict)
        and document.get("kind") == "List"
        and isinstance(document.get("items"), list)
    ):
        for item in document["items"]:
            yield from objects(item)
    elif kind_of(document) is not None:
        yield document


# --- converting -----------------------------------------------------------------------------------


def convert(document: Any, output: GroupVersion | None) -> tuple[Any, list[str]]:
    """(document in served versions, notes). ``output``: the version to reach; objects that have no
    form in it keep the nearest that they have; None: whatever replaces a removed version. Lists are
    converted item by item. Raises ManifestError."""
    if (
        isinstance(document, dict)
        and document.get("kind") == "List"
        and isinstance(document.get("items"), list)
    ):
        items = [convert(item, output) for item in document["items"]]
        return {**document, "items": [item for item, _ in items]}, [
            note for _, notes in items for note in notes
        ]
    gvk = kind_of(document)
    if gvk is None:
        return document, []
    obj, notes = _replaced(copy.deepcopy(document), gvk)
    if output is not None:
        obj, more = _reached(obj, output)
        notes += more
    title = name_of(document)
    return obj, [f"{title}: {note}" for note in notes]


def name_of(document: Object) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return f"{document['apiVersion']} {document['kind']} {name}".rstrip()


def _replaced(obj: Object, gvk: GroupVersionKind) -> tuple[Object, list[str]]:
    removal = removals().get(gvk)
    if removal is None:
        return obj, []
    if removal.replacement is None:
        raise ManifestError(
            f"{name_of(obj)}: removed in v{removal.release}, and nothing replaces it"
        )
    conversion = Conversion(obj, gvk)
    if removal.change is not None:
        try:
            removal.change(conversion)
        except (AttributeError, KeyError, TypeError) as e:
            raise ManifestError(f"{name_of(obj)}: not a valid {gvk.kind}: {e}") from e
    obj["apiVersion"] = removal.replacement.api_version
    return obj, conversion.notes


def _reached(obj: Object, output: GroupVersion) -> tuple[Object, list[str]]:
    """From one served version to another of the same kind."""
    gvk = kind_of(obj)
    if gvk is None or gvk.group_version == output:
        return obj, []
    source = _resource(gvk)
    target = _resource(GroupVersionKind(output.group, output.version, gvk.kind))
    if source is None or target is None or source.storage != target.storage:
        return obj, [f"has no form in {output}; left in {gvk.api_version}"]
    converted = target.hooks.convert({"metadata": {}, **obj}, output.version)
    return {"apiVersion": converted["apiVersion"], "kind": gvk.kind, **converted}, []


def _resource(gvk: GroupVersionKind) -> Resource | None:
    resource = (
        r
        for r in catalog.resources().values()
        if r.group == gvk.group and r.kind == gvk.kind and gvk.version in r.versions
    )
    return next(resource, None)


# --- checking -------------------------------------------------------------------------------------


def files(path: Path) -> list[Path]:
    """A file, or the manifests below a directory."""
    if path.is_file():
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in SUFFIXES)


def check(text: str) -> list[Finding]:
    """What a file uses that is removed or deprecated. Raises ManifestError."""
    return [
        finding
        for document in read(text)
        for obj in objects(document)
        if (finding := _finding(obj)) is not None
    ]


def _finding(obj: Object) -> Finding | None:
    gvk = kind_of(obj)
    assert gvk is not None
    removal = removals().get(gvk)
    if removal is not None:
        instead = (
            f"use {removal.replacement.api_version}"
            if removal.replacement is not None
            else "nothing replaces it"
        )
        return Finding(name_of(obj), f"removed in v{removal.release}; {instead}", removed=True)
    resource = _resource(gvk)
    deprecated = resource.versions[gvk.version].deprecated if resource is not None else ""
    return Finding(name_of(obj), deprecated, removed=False) if deprecated else None
