"""FieldManager: managed fields of one kind, kept on every write.

``update`` runs after any create, replace or patch has made the new object, ``apply`` makes the new object itself. Both leave their
arguments alone and return an object that shares nothing with the live one that a later step could change by accident: ``update``
returns the new object's own parts, ``apply`` a fresh copy.

The layers of apimachinery's ``util/managedfields`` (fieldmanager.go and its managers) appear here as the steps of the two methods:
version check → last-applied annotation → objects without managers → cap → names → times → strip metadata → updater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from apiserver.errors import ApiError, ApplyConflict, BadRequest, PlainError
from apiserver.fieldmanager import lastapplied
from apiserver.fieldmanager.fieldpath import Filter, difference, has, path_of, path_text, set_of, union
from apiserver.fieldmanager.managed import (
    InvalidManagedFields,
    Managed,
    Manager,
    cap_update_managers,
    decode_entries,
    encode_entries,
    entries_of,
    is_reset,
    manager_of,
    with_entries,
    without_entries,
)
from apiserver.fieldmanager.typed import TypedError, validate
from apiserver.fieldmanager.types import Type, object_type
from apiserver.fieldmanager.updater import Conflict, Conflicts, MissingVersion, Object, Owned, Updater, failing
from apiserver.fieldmanager.values import copy, same
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.times import format_time
from apiserver.schema.decode import zero
from apiserver.schema.types import Schema

_UNKNOWN = "unknown"
_BEFORE_FIRST_APPLY = "before-first-apply"
_SELF = Manager("current-operation", "Update", "")

_META = ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion")
STRIPPED = set_of(path_of("apiVersion"), path_of("kind"), path_of("metadata"), *(path_of("metadata", name) for name in _META))
"""What nobody ever owns."""


class FieldManager:
    """Managed fields of one kind.

    kind: the Kind that applied objects must have. schemas: apiVersion → schema of the whole object, None for a version that is not there.
    convert: an object to an apiVersion of its kind (a new object or the same); raises MissingVersion for a version that is gone for good
    (its managers are dropped), ValueError when conversion fails. filters: subresource → apiVersion → filter of fields that the write may
    own at all (see `apiserver.fieldmanager.reset`). finish: decodes and defaults what apply merged, in the request's version; its
    ValueError is reported as kube-apiserver reports a failing conversion of the merged object.
    """

    def __init__(
        self,
        kind: str,
        schemas: Callable[[str], Schema | None],
        convert: Callable[[Object, str], Object],
        filters: Mapping[str, Mapping[str, Filter]] | None = None,
        finish: Callable[[Object], Object] | None = None,
    ) -> None:
        self._kind = kind
        self._schemas = schemas
        self._convert = convert
        self._finish = finish
        self._updaters: dict[str, Updater[Manager]] = {
            subresource: Updater(self._type, convert, by_version) for subresource, by_version in (filters or {}).items()
        }
        self._default_updater: Updater[Manager] = Updater(self._type, convert, {})

    # --- create, update, patch -----------------------------------------------------------------------------------------------------
    def update(self, live: Object | None, new: Object, manager: str, *, api_version: str, subresource: str = "", now: datetime) -> Object:
        """``new`` with the managedFields after ``manager`` made it of ``live`` (None: create). Both are decoded and defaulted.

        ``new`` says what happens to managedFields unless this is a subresource: left out, null or invalid keeps those of ``live``; an
        empty list or one empty entry clears them; valid entries replace them. Never fails: where an object does not fit its type, the
        result has no managedFields at all. Entries of a manager whose set does not change keep their time."""
        managed = self._managed_of(live, new, subresource)
        bare = without_entries(new)
        exists = bool(((live or {}).get("metadata") or {}).get("uid"))
        if not managed.fields and exists:
            return with_entries(bare, [])
        try:
            before = self._versioned(self._empty(api_version) if live is None else without_entries(live), api_version)
            managed = self._updated(before, bare, managed, manager or _UNKNOWN, api_version, subresource, now)
        except (ValueError, MissingVersion):
            return with_entries(bare, [])
        return with_entries(bare, encode_entries(cap_update_managers(managed)))

    def _managed_of(self, live: Object | None, new: Object, subresource: str) -> Managed:
        wanted = None if subresource else entries_of(new)
        if is_reset(wanted):
            return Managed()
        if wanted:
            try:
                return decode_entries(wanted)
            except InvalidManagedFields:
                pass
        try:
            return decode_entries(entries_of(live))
        except InvalidManagedFields:
            return Managed()

    def _updated(self, live: Object, new: Object, managed: Managed, name: str, version: str, subresource: str, now: datetime) -> Managed:
        """The change is booked on a manager of its own first, so that a write which takes nothing leaves no trace."""
        updater = self._updater(subresource)
        new = self._versioned(new, version)
        if same(live, new):
            kept = updater.reconciled(live, managed.fields)
            return Managed({manager: owned for manager, owned in kept.items() if owned.fields}, managed.times)
        t = updater.type(version)
        if not self._decoded(version):
            with failing(lambda: f"failed to convert new object ({_identity(new)}) to smd typed"):
                validate(t, new, allow_duplicates=True)
            with failing(lambda: f"failed to convert live object ({_identity(live)}) to smd typed"):
                validate(t, live, allow_duplicates=True)
        with failing(lambda: f"failed to update ManagedFields ({_identity(new)})"):
            fields = updater.update(live, new, version, managed.fields, _SELF)
        times = managed.times
        mine = fields.pop(_SELF, None)
        if mine is not None:
            taken = difference(mine.fields, STRIPPED)
            if taken:
                manager = manager_of(name, "Update", version, subresource)
                previous = fields.get(manager)
                fields[manager] = Owned(union(taken, previous.fields) if previous else taken, version, False)
                times = {**times, manager: format_time(now)}
        return Managed(fields, times)

    # --- apply -----------------------------------------------------------------------------------------------------------------------
    def apply(
        self, live: Object | None, applied: Object, manager: str, *, force: bool, api_version: str, subresource: str = "", now: datetime
    ) -> Object:
        """What ``applied`` makes of ``live`` (None or without uid: create), with managedFields; equal to ``live`` for a no-op.

        The result is not decoded or defaulted unless ``finish`` was given. Raises BadRequest for an object of another kind or version
        and for managedFields in it, ApplyConflict without force, PlainError (500) where ``applied`` does not fit the schema."""
        version = self._check(applied, api_version)
        live = live if live and live.get("kind") else {**self._empty(version), **(live or {})}
        try:
            managed = decode_entries(entries_of(live))
        except InvalidManagedFields as error:
            raise PlainError(f"failed to decode managed fields: {error}") from error
        try:
            before = self._versioned(without_entries(live), version)
        except (ValueError, MissingVersion) as error:
            raise PlainError(f"failed to convert live object ({_identity(live)}) to proper version: {error}") from error
        if not managed.fields:
            managed = self._before_first_apply(before, managed, version, subresource, now)
        try:
            merged, managed = self._applied(before, applied, managed, manager or _UNKNOWN, force, version, subresource, now)
        except Conflicts as error:
            raise _conflict_error(error.conflicts) from error
        result = copy(before if merged is None else self._finished(merged, applied))
        if manager == lastapplied.MANAGER:
            result = lastapplied.refreshed(result, applied)
        return with_entries(result, encode_entries(managed))

    def _check(self, applied: Object, api_version: str) -> str:
        found, kind = applied.get("apiVersion"), applied.get("kind")
        if found != api_version or kind != self._kind:
            raise BadRequest(f"invalid object type: {_group_version_kind(found, kind)}")
        entries = entries_of(applied)
        if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
            raise BadRequest("metadata.managedFields must be nil")
        return api_version

    def _before_first_apply(self, live: Object, managed: Managed, version: str, subresource: str, now: datetime) -> Managed:
        """An object that nobody manages: what it holds is booked on one Update manager, so that apply conflicts with it."""
        try:
            return cap_update_managers(self._updated(self._empty(version), live, managed, _BEFORE_FIRST_APPLY, version, subresource, now))
        except (ValueError, MissingVersion) as error:
            raise PlainError(f"failed to create manager for existing fields: {error}") from error

    def _applied(
        self, live: Object, applied: Object, managed: Managed, name: str, force: bool, version: str, subresource: str, now: datetime
    ) -> tuple[Object | None, Managed]:
        """Applies; for kubectl, conflicts over what client-side apply owned settle themselves."""
        t = self._validated(live, applied, version)
        manager = manager_of(name, "Apply", version, subresource)
        updater = self._updater(subresource)
        try:
            merged, fields = self._run(updater, live, applied, managed, manager, force, version)
        except Conflicts as error:
            allowed = lastapplied.owned_through(t, live) if name == lastapplied.MANAGER else None
            if allowed is None:
                raise
            left = [conflict for conflict in error.conflicts if not has(allowed, conflict.path)]
            if left:
                raise Conflicts(left) from error
            merged, fields = self._run(updater, live, applied, managed, manager, True, version)
        mine = fields.get(manager)
        if mine is not None:
            kept = difference(mine.fields, STRIPPED)
            if kept:
                fields[manager] = mine._replace(fields=kept)
            else:
                del fields[manager]
        times = managed.times if merged is None else {**managed.times, manager: format_time(now)}
        return merged, Managed(fields, times)

    def _validated(self, live: Object, applied: Object, version: str) -> Type:
        t = self._type(version)
        if t is None:
            raise PlainError(f"failed to create typed patch object ({_identity(applied)}): no corresponding type for {_kind_of(applied)}")
        try:
            validate(t, applied)
        except TypedError as error:
            raise PlainError(f"failed to create typed patch object ({_identity(applied)}): {error}") from error
        if not self._decoded(version):
            try:
                validate(t, live, allow_duplicates=True)
            except TypedError as error:
                raise PlainError(f"failed to create typed live object ({_identity(live)}): {error}") from error
        return t

    def _run(
        self, updater: Updater[Manager], live: Object, applied: Object, managed: Managed, manager: Manager, force: bool, version: str
    ) -> tuple[Object | None, dict[Manager, Owned]]:
        try:
            return updater.apply(live, applied, version, managed.fields, manager, force=force)
        except (ValueError, MissingVersion) as error:
            raise PlainError(str(error)) from error

    def _finished(self, merged: Object, applied: Object) -> Object:
        if self._finish is None:
            return merged
        try:
            return self._finish(merged)
        except ApiError:
            raise
        except ValueError as error:
            raise PlainError(f"failed to convert new object ({_identity(applied)}) to proper version: {error}") from error

    # --- versions --------------------------------------------------------------------------------------------------------------------
    def _type(self, version: str) -> Type | None:
        schema = self._schemas(version)
        return None if schema is None else object_type(schema)

    def _decoded(self, version: str) -> bool:
        """Whether objects of the version fit their type anyway, because they were decoded by a built-in schema."""
        schema = self._schemas(version)
        return schema is not None and schema.builtin

    def _updater(self, subresource: str) -> Updater[Manager]:
        return self._updaters.get(subresource, self._default_updater)

    def _versioned(self, obj: Object, version: str) -> Object:
        return obj if obj.get("apiVersion") == version else self._convert(obj, version)

    def _empty(self, version: str) -> Object:
        """What a create is compared with. A built-in object is a Go value, which always has its structs and what is never omitted, so a
        create owns what it puts into those, not themselves; a custom object starts with nothing."""
        schema = self._schemas(version)
        if schema is None:
            raise MissingVersion(version)
        return {**(zero(schema) if schema.builtin else {}), "kind": self._kind, "apiVersion": version}


# --- texts -------------------------------------------------------------------------------------------------------------------------
def _conflict_error(conflicts: list[Conflict[Manager]]) -> ApplyConflict:
    """The 409: conflicts by manager, in the order of their identifiers."""
    conflicts = sorted(conflicts, key=lambda c: c.manager.identifier)
    causes = [(f"conflict with {c.manager}", path_text(c.path)) for c in conflicts]
    if len(conflicts) == 1:
        return ApplyConflict(f"Apply failed with 1 conflict: {causes[0][0]}: {causes[0][1]}", causes)
    lines: dict[str, list[str]] = {}
    for text, path in causes:
        lines.setdefault(text.replace("conflict", "conflicts", 1), []).append(f"- {path}")
    parts = [line for head, paths in lines.items() for line in (f"{head}:", *paths)]
    return ApplyConflict(f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(parts), causes)


def _identity(obj: Object) -> str:
    """namespace/name; group/version, Kind=kind"""
    metadata: Any = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}; {_kind_of(obj)}"


def _kind_of(obj: Object) -> str:
    return _group_version_kind(obj.get("apiVersion"), obj.get("kind"))


def _group_version_kind(api_version: Any, kind: Any) -> str:
    try:
        group, version = GroupVersion.parse(_text(api_version))
    except ValueError:
        return "/, Kind="
    return f"{group}/{version}, Kind={_text(kind)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
