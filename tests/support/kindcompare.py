"""What a replayed step gave, compared with what was recorded (tests.support.kindreplay)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.served import Resource

NS = "replay-abcdefgh"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_METADATA = re.compile(
    r"metadata\.(name|generateName|namespace|uid|labels|annotations|ownerReferences|resourceVersion)\b(?!\[)|^metadata\.finalizers"
)
_OF_REQUEST = (None, "dryRun", "patch", "fieldManager", "fieldValidation", "force")
_ANYTHING = ("<gen>", "<rv>", "<ip>", "<port>")
_OTHER_FORMS = ("PartialObjectMetadata", "Status")
_AGE = re.compile(r"(\d+[smhdy]){1,2}|<unknown>")
_ALLOCATED = (
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "nodePort",
    "healthCheckNodePort",
)
_SERVER_SET = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "managedFields",
    "generateName",
    "finalizers",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "ownerReferences",
)


@dataclass(slots=True)
class Target:
    resource: Resource
    version: str
    namespace: str
    name: str
    subresource: str


@dataclass(slots=True)
class Result:
    obj: dict[str, Any]
    errors: FieldErrors
    warnings: list[str] = field(default_factory=list)


def _plain(value: Any) -> Any:
    """Volatile values under one name each, as in the recordings but not numbered."""
    text = json.dumps(value).replace(NS, "<ns>")
    text = _TIME.sub("<time>", _UUID.sub("<uid>", text))
    return json.loads(re.sub(r"<(uid|rv|gen)\d*>", r"<\1>", text))


def compare(
    result: Result, target: Target, step: Mapping[str, Any], answer: Mapping[str, Any]
) -> list[str] | None:
    body, status = answer["body"], answer["status"]
    if status == 422:
        return _compare_errors(result, step, body)
    if result.errors:
        return [f"unexpected error {e}" for e in result.errors]
    if (
        not isinstance(body, dict)
        or body.keys() & {"yaml", "protobuf", "cbor", "text"}
        or body.get("kind") in _OTHER_FORMS
    ):
        return None
    if body.get("kind") == "Table":
        return _compare_table(result.obj, target, body, bool(step.get("only")))
    if step.get("only") and {p.split("/")[1] for p in step["only"]} & {
        "protobuf",
        "yaml",
        "cbor",
        "rows",
        "columnDefinitions",
    }:
        return None
    if body.get("/kind") in _OTHER_FORMS:
        return None
    found = _plain(result.obj)
    found["metadata"].pop("resourceVersion", None)
    differences = list(_compare_object(found, body, step))
    if step.get("method", "GET") != "GET":
        differences += _compare_warnings(result, answer)
    return differences


def _compare_table(
    obj: dict[str, Any], target: Target, body: Any, partial: bool
) -> list[str] | None:
    """One row: column names and cells."""
    rows = body.get("rows") or []
    if partial or len(rows) != 1:
        return None
    columns = target.resource.versions[target.version].columns
    names, wanted_names = (
        [c.name for c in columns],
        [c["name"] for c in body["columnDefinitions"] or ()],
    )
    differences = (
        []
        if not wanted_names or names == wanted_names
        else [f"columns {names}, want {wanted_names}"]
    )
    cells = target.resource.hooks.cells(obj, target.version, NOW)
    shown = [_plain("<age>" if isinstance(c, str) and _AGE.fullmatch(c) else c) for c in cells]
    return differences + list(_walk(rows[0]["cells"], shown, "/cells"))


def _compare_object(found: Any, body: Any, step: Mapping[str, Any]) -> Iterator[str]:
    if step.get("only"):
        for path, wanted in body.items():
            if (
                path in ("/metadata", "/code", "/reason", "/message")
                or path.split("/")[1:3][-1] in _SERVER_SET
            ):
                continue
            got = _pointer(found, path)
            if any(_walk(_plain(wanted), got, "")):
                yield f"{path}: got {json.dumps(got)[:300]}, want {json.dumps(wanted)[:300]}"
        return
    wanted = _plain(body)
    for side in (wanted, found):
        for name in _SERVER_SET:
            side.get("metadata", {}).pop(name, None)
        if found["kind"] == "Service":
            for part in (side.get("spec", {}), *(side.get("spec", {}).get("ports") or ())):
                for name in _ALLOCATED:
                    part.pop(name, None)
    yield from _walk(wanted, found, "")


def _pointer(doc: Any, path: str) -> Any:
    for part in [p.replace("~1", "/").replace("~0", "~") for p in path.split("/")[1:]]:
        try:
            doc = doc[int(part)] if isinstance(doc, list) else doc[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return "<absent>"
    return doc


def _walk(wanted: Any, got: Any, at: str) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in sorted(wanted.keys() | got.keys()):
            if key not in got:
                yield f"{at}/{key}: missing, want {json.dumps(wanted[key])[:200]}"
            elif key not in wanted:
                yield f"{at}/{key}: unexpected {json.dumps(got[key])[:200]}"
            else:
                yield from _walk(wanted[key], got[key], f"{at}/{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
            yield from _walk(a, b, f"{at}/{i}")
    elif wanted != got and wanted not in _ANYTHING:
        yield f"{at}: got {json.dumps(got)[:300]}, want {json.dumps(wanted)[:300]}"


def _compare_errors(result: Result, step: Mapping[str, Any], body: Any) -> list[str]:
    ours = [(e.path, e.type.value, e.body()) for e in result.errors]
    if step.get("only"):
        first = body.get("/details/causes/0/field")
        fields = [path for path, _, _ in ours]
        if first is None or _METADATA.match(first):
            return []
        return [] if first in fields else [f"no error for {first}: {fields}"]
    if any(c.get("field") in _OF_REQUEST for c in (body.get("details") or {}).get("causes", [])):
        return []
    causes = [
        (c.get("field"), c.get("reason"), c.get("message"))
        for c in (body.get("details") or {}).get("causes", [])
    ]
    if any(message is None for _, _, message in causes):
        causes, ours = [(f, r, None) for f, r, _ in causes], [(f, r, None) for f, r, _ in ours]
    wanted = Counter(json.dumps(_plain(c)) for c in causes if not _METADATA.match(c[0] or ""))
    got = Counter(json.dumps(_plain(c)) for c in ours if not _METADATA.match(c[0]))
    return [f"missing {c}" for c in (wanted - got).elements()] + [
        f"unexpected {c}" for c in (got - wanted).elements()
    ]


def _compare_warnings(result: Result, answer: Mapping[str, Any]) -> list[str]:
    header = (answer.get("headers") or {}).get("warning", "")
    texts = [m.replace('\\"', '"').replace("\\\\", "\\") for m in _WARNING.findall(header)]
    wanted = Counter(
        t
        for t in texts
        if not re.match(r"unknown field|duplicate field|line \d|Validation failed|v1 ", t)
    )
    got = Counter(json.loads(json.dumps(w).replace(NS, "<ns>")) for w in result.warnings)
    return [f"missing warning {w}" for w in (wanted - got).elements()] + [
        f"unexpected warning {w}" for w in (got - wanted).elements()
    ]
