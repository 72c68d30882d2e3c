"""metadata.managedFields: entries as clients see them, and managers with their sets as the updater
wants them.

A manager is known by name, operation and subresource, an Update manager by its apiVersion too.
Times are RFC 3339 seconds in UTC. Source: apimachinery ``util/managedfields/internal``
(managedfields.go, capmanagers.go).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

import orjson

from apiserver.fieldmanager.fieldpath import decode, encode_text, union
from apiserver.fieldmanager.updater import Owned
from apiserver.fieldmanager.values import to_json
from apiserver.golang.strconv import go_quote
from apiserver.meta.equality import equal, semantic_equal
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import format_time

Entry = dict[str, Any]
Operation = Literal["Apply", "Update"]

MAX_UPDATE_MANAGERS = 10
ANCIENT = "ancient-changes"
_EPOCH = "1970-01-01T00:00:00Z"
_CANONICAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class InvalidManagedFields(ValueError):
    """Entries that cannot be decoded; the text is the one that a warning after admission quotes."""


class Manager(NamedTuple):
    """Who manages fields. api_version is "" for Apply, because an applier is the same in every
    version."""

    name: str
    operation: Operation
    api_version: str
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """The text by which kube-apiserver sorts managers: the entry as JSON without what is
        empty."""
        entry = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return f"{{{','.join(f'{to_json(k)}:{to_json(v)}' for k, v in entry.items() if v)}}}"

    def __str__(self) -> str:
        """As a conflict names it: ``"kubectl" with subresource "scale" using apps/v1``."""
        text = go_quote(self.name)
        if self.subresource:
            text += f" with subresource {go_quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


def manager_of(name: str, operation: Operation, api_version: str, subresource: str) -> Manager:
    return Manager(name, operation, "" if operation == "Apply" else api_version, subresource)


@dataclass(slots=True)
class Managed:
    """fields: what each manager owns; times: when each last changed something ("" or missing: not
    known)."""

    fields: dict[Manager, Owned] = field(default_factory=dict)
    times: dict[Manager, str] = field(default_factory=dict)


# --- entries --------------------------------------------------------------------------------------
def decode_entries(entries: Sequence[Any] | None) -> Managed:
    """Raises InvalidManagedFields."""
    managed = Managed()
    for i, entry in enumerate(entries or ()):
        if not isinstance(entry, dict):
            raise InvalidManagedFields("managed fields entry is not an object")
        operation, version = entry.get("operation"), entry.get("apiVersion")
        if operation not in ("Apply", "Update"):
            raise InvalidManagedFields("operation must be `Apply` or `Update`")
        if not version:
            raise InvalidManagedFields("apiVersion must not be empty")
        fields_type = entry.get("fieldsType")
        if not fields_type:
            raise InvalidManagedFields(f"missing fieldsType in managed fields entry {i}")
        if fields_type != "FieldsV1":
            raise InvalidManagedFields(
                f"invalid fieldsType {go_quote(str(fields_type))} in managed fields entry {i}"
            )
        manager = manager_of(
            entry.get("manager") or "", operation, version, entry.get("subresource") or ""
        )
        try:
            fields = decode(entry.get("fieldsV1"))
        except ValueError as error:
            raise InvalidManagedFields(f"error decoding set: {error}") from error
        managed.fields[manager] = Owned(fields, version, operation == "Apply")
        managed.times[manager] = _time(entry.get("time"))
    return managed


def encode_entries(managed: Managed) -> list[Entry]:
    """Entries in kube-apiserver's order, sharing nothing with the sets; an empty list when nobody
    manages anything."""
    fields, times = managed.fields, managed.times

    def order(m: Manager) -> tuple[str, ...]:
        return m.operation, times.get(m) or _EPOCH, m.name, fields[m].version, m.subresource

    managers = sorted(fields, key=order) if len(fields) > 1 else fields
    return [_entry(manager, fields[manager], times.get(manager, "")) for manager in managers]


def _entry(manager: Manager, owned: Owned, time: str) -> Entry:
    entry: Entry = {"manager": manager.name} if manager.name else {}
    entry["operation"] = manager.operation
    entry["apiVersion"] = owned.version
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = orjson.loads(encode_text(orjson.dumps(owned.fields)))
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _time(text: Any) -> str:
    if not isinstance(text, str) or not text:
        return ""
    if _CANONICAL_TIME.fullmatch(text):
        return text
    try:
        return format_time(datetime.fromisoformat(text))
    except ValueError as error:
        raise InvalidManagedFields(f"error decoding time: {error}") from error


def warning_after_admission(entries: Sequence[Any] | None) -> str:
    """The warning for a client whose object came out of mutating admission with managedFields that
    cannot be decoded, "" when they can. The object then gets back the managedFields that it had
    before (k8s.io/apiserver ``handlers/fieldmanager/admission.go``)."""
    try:
        decode_entries(entries)
    except InvalidManagedFields as error:
        return (
            ".metadata.managedFields was in an invalid state after admission; this could be caused "
            "by an outdated mutating admission "
            f"controller; please fix your requests: {error}"
        )
    return ""


def is_reset(entries: Any) -> bool:
    """Whether managedFields say that they want to be cleared: an empty list, or one empty entry."""
    if not isinstance(entries, list):
        return False
    return not entries or (
        len(entries) == 1 and isinstance(entries[0], dict) and not any(entries[0].values())
    )


# --- objects --------------------------------------------------------------------------------------
def entries_of(obj: Object | None) -> Any:
    """metadata.managedFields as it stands, None where it is not."""
    metadata = (obj or {}).get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def without_entries(obj: Object) -> Object:
    """The object without managedFields; the same object when it has none."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    metadata = metadata.copy()
    del metadata["managedFields"]
    return {**obj, "metadata": metadata}


def with_entries(obj: Object, entries: list[Entry]) -> Object:
    """The object with these managedFields, without the member when there are none. The object and
    its metadata are new dictionaries."""
    metadata = {**(obj.get("metadata") or {})}
    metadata.pop("managedFields", None)
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def keep_times(new: Object, live: Object, *, has_go_type: bool) -> Object:
    """``new`` with the entries' times of ``live`` when nothing but those times differs, so that no
    write comes of them (k8s.io/apiserver ``fieldmanager/equality.go``); otherwise ``new`` itself.
    has_go_type: an empty list, as it was sent, does not differ from none, as it is stored."""
    mine, theirs = entries_of(new), entries_of(live)
    if (
        not mine
        or not theirs
        or len(mine) != len(theirs)
        or all(a.get("time") == b.get("time") for a, b in zip(mine, theirs, strict=True))
    ):
        return new
    if any({**a, "time": None} != {**b, "time": None} for a, b in zip(mine, theirs, strict=True)):
        return new
    alike = semantic_equal if has_go_type else equal
    if not alike(without_entries(new), without_entries(live)):
        return new
    return with_entries(new, copy_json(theirs))


# --- ageing ---------------------------------------------------------------------------------------
def cap_update_managers(managed: Managed) -> Managed:
    """At most MAX_UPDATE_MANAGERS Update managers: the oldest of one apiVersion are merged into one
    with the name "ancient-changes"."""
    updaters = [m for m, owned in managed.fields.items() if not owned.applied]
    left = len(updaters)
    if left <= MAX_UPDATE_MANAGERS:
        return managed
    fields, times = dict(managed.fields), dict(managed.times)
    updaters.sort(key=lambda m: (times.get(m) or _EPOCH, m.identifier))
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if left <= MAX_UPDATE_MANAGERS:
            break
        owned = fields[manager]
        first = first_of.setdefault(owned.version, manager)
        if first is manager:
            continue
        bucket = Manager(ANCIENT, "Update", owned.version)
        if bucket not in fields:
            fields[bucket] = fields.pop(first)
        fields[bucket] = owned._replace(fields=union(owned.fields, fields[bucket].fields))
        del fields[manager]
        left -= 1
        times[bucket] = times.get(manager, "")
    return replace(managed, fields=fields, times=times)
