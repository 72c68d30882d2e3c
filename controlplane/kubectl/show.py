"""What a person reads: tables, differences, YAML with a gutter."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from controlplane.kubectl import gutter
from controlplane.kubectl.gutter import dump

Json = Mapping[str, Any]
_NOT_SHOWN = ("managedFields", "resourceVersion")


def table(rows: Sequence[Sequence[str]]) -> str:
    """``rows``: the first is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    cells = ("   ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in cells)


def age(time: str, now: datetime) -> str:
    """Of an RFC 3339 time, in the largest unit that fits."""
    if not time:
        return ""
    seconds = int((now - datetime.fromisoformat(time)).total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"


def _user(revision: Json) -> str:
    asked = revision.get("request") or {}
    acting, user = asked.get("impersonatedUsername", ""), asked.get("username", "")
    return f"{acting} ({user})" if acting else str(user)


def history(revisions: Sequence[Json], now: datetime | None = None) -> str:
    now = now or datetime.now(UTC)
    rows = [["REVISION", "OBJECT", "TYPE", "VERB", "MANAGER", "USER", "AGE", "NOTE"]]
    for revision in revisions:
        name = revision["objectRef"]["name"]
        verb = f"{revision.get('verb', '')} {revision.get('subresource', '')}".strip()
        note = f"of {revision['restored']}" if revision.get("restored") else ""
        note = "oldest retained" if revision.get("oldest") else note
        note = "there is one again" if revision.get("present") else note
        asked = _user(revision.get("deletion") or {})
        if asked not in {"", _user(revision)}:
            note = f"asked for by {asked}" + (f", {note}" if note else "")
        rows.append(
            [
                revision["metadata"]["name"],
                f"{revision['resource']}/{name}",
                revision["type"],
                verb,
                revision.get("manager", ""),
                _user(revision),
                age(revision["time"], now),
                note,
            ]
        )
    return table(rows)


def reach(log: Json, now: datetime | None = None) -> str:
    """Of a RetainedLog."""
    begins, now = log.get("begins", ""), now or datetime.now(UTC)
    return table(
        [
            ["BEGINS", "AGE", "OLDEST", "NEWEST", "RETENTION"],
            [
                begins or "<nothing is left>",
                age(begins, now),
                log["oldest"],
                log["newest"],
                f"{log['retentionSeconds']}s",
            ],
        ]
    )


def plain(obj: Json) -> dict[str, Any]:
    """Without what differs between any two versions."""
    kept = {k: v for k, v in obj.get("metadata", {}).items() if k not in _NOT_SHOWN}
    return {name: kept if name == "metadata" else value for name, value in obj.items()}


def diff(old: Json | None, new: Json) -> str:
    """A unified diff from one revision to another; old: None where there was nothing before."""
    (before, text), (after, other) = (_side(revision) for revision in (old, new))
    lines = difflib.unified_diff(text, other, before, after, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _side(revision: Json | None) -> tuple[str, list[str]]:
    if revision is None:
        return "/dev/null", []
    return _label(revision), dump(plain(revision["object"])).splitlines()


def _label(revision: Json) -> str:
    told = (revision["metadata"]["name"], revision["time"], revision.get("manager", ""))
    return f"{revision['resource']}/{revision['objectRef']['name']}@{' '.join(filter(None, told))}"


def blame(revision: Json, told: Json, now: datetime | None = None) -> str:
    """The object as YAML; beside each field who gave it its value, and when."""
    now = now or datetime.now(UTC)
    fields = {field["path"]: field for field in told["fields"]}
    rows = [["REVISION", "AGE", "MANAGER", "USER", ""]]
    rows += _lines(plain(revision["object"]), fields, now)
    text = table([[*row[:-1], f"| {row[-1]}".rstrip()] for row in rows])
    return f"{text}# {told['message']}\n" if told.get("message") else text


def _lines(obj: Json, fields: Mapping[str, Json], now: datetime) -> Iterator[list[str]]:
    last = None
    for line in gutter.lines(obj, list(fields)):
        field = fields.get(line.path)
        if field is None or line.path == last:
            yield ["", "", "", "", line.text]
            continue
        last = line.path
        manager = field.get("manager", "")
        if field.get("subresource"):
            manager = f"{manager}/{field['subresource']}"
        manager = f"{manager} (apply)" if field.get("operation") == "Apply" else manager
        told = [field.get("revision", "older"), age(field.get("time", ""), now), manager]
        yield [*told, field.get("username", ""), line.text]


def found(status: Json) -> str:
    """What a search has found, and what it says of itself."""
    items = status["items"]
    tenants = any("tenant" in item for item in items)
    rows = [[*["TENANT"] * tenants, "NAMESPACE", "OBJECT", "WHERE", "FOUND"]]
    for item in items:
        match = item["matches"][0]
        told = [item.get("namespace", ""), f"{item['resource']}/{item['name']}", match["path"]]
        rows.append([*[item.get("tenant", "")] * tenants, *told, match["excerpt"]])
    text = table(rows) if items else "nothing was found\n"
    if status.get("incomplete"):
        text += f"# incomplete: {status['why']}\n"
    return text + "# there may be more: --limit\n" if status.get("continue") else text


def counts(status: Json, namespace: str, *, empty: bool) -> str:
    """How many objects there are. empty: also of resources that were named, of which there are
    none, or that are in no namespace."""
    shown = [
        each
        for each in status.get("counts", ())
        if empty or (each["count"] and each.get("namespace", "") == namespace)
    ]
    rows = [["RESOURCE", "COUNT"], *([_full_name(each), str(each["count"])] for each in shown)]
    text = table(rows) if shown else "nothing was counted\n"
    hidden = ", ".join(map(_full_name, status.get("hidden", ())))
    return text + (f"# you may not list: {hidden}\n" if hidden else "")


def _full_name(resource: Json) -> str:
    return ".".join(filter(None, (resource["resource"], resource.get("group", ""))))


def objects(items: Sequence[Json], remaining: int, now: datetime | None = None) -> str:
    """``remaining``: objects behind them."""
    now = now or datetime.now(UTC)
    spaces = any(item["metadata"].get("namespace") for item in items)
    rows = [[*["NAMESPACE"] * spaces, "NAME", "AGE"]]
    for item in items:
        metadata = item["metadata"]
        told = [metadata["name"], age(metadata.get("creationTimestamp", ""), now)]
        rows.append([*[metadata.get("namespace", "")] * spaces, *told])
    text = table(rows) if items else "nothing was found\n"
    return text + (f"# {remaining} more: --limit\n" if remaining else "")


def restored(answer: Json, dry_run: bool) -> str:
    """What came of a rollback or an undelete."""
    reference = answer["objectRef"]
    name = f"{reference['kind'].lower()}/{reference['name']}"
    if answer.get("unchanged"):
        text = f"{name} unchanged: it is as revision {answer['metadata']['name']} has it"
    else:
        text = f"{name} is as in revision {answer['metadata']['name']}"
        text += " (server dry run)" if dry_run else f", now {reference.get('resourceVersion', '')}"
    left = (f"  not {f['path']}: {f['reason']}" for f in answer.get("notRestored", ()))
    return "".join(f"{line}\n" for line in (text, *left))
