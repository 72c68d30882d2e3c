"""FieldManager: managed fields of one kind, kept on every write.

``update`` runs after any create, replace or patch has made the new object, ``apply`` makes the new
object itself. Both leave their arguments alone and return an object that shares nothing with the
live one that a later step could change by accident: ``update`` returns the new object's own parts,
``apply`` a fresh copy.

The layers of apimachinery's ``util/managedfields`` (fieldmanager.go and its managers) appear here
as the steps of the two methods: version check → last-applied annotation → objects without managers
→ cap → names → times → strip metadata → updater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from apiserver.errors import ApiError, BadRequest, PlainError
from apiserver.fieldmanager import lastapplied
from apiserver.fieldmanager.emptylists import with_told_apart
from apiserver.fieldmanager.fieldpath import (
    Filter,
    has,
    union,
)
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
from apiserver.fieldmanager.texts import (
    conflict_error,
    group_version_kind,
    identity,
    kind_of,
)
from apiserver.fieldmanager.typed import TypedError, validate
from apiserver.fieldmanager.types import Type
from apiserver.fieldmanager.unowned import META, STRIPPED_META, owned_part
from apiserver.fieldmanager.updater import (
    Conflicts,
    MissingVersion,
    Owned,
    Updater,
    failing,
)
from apiserver.fieldmanager.versions import Versions
from apiserver.meta.equality import equal
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import format_time
from apiserver.schema.decode_errors import Empty
from apiserver.schema.types import Schema

_UNKNOWN = "unknown"
_BEFORE_FIRST_APPLY = "before-first-apply"
_SELF = Manager("current-operation", "Update", "")


def _with_identity(new: Object, live: Object, managed: Managed) -> Object:
    """``new`` with what a PUT may leave out of the live object's metadata and nobody can own: it
    need not be compared then, and taken from everybody. As it is where somebody owns such a member
    all the same, because a client has written so."""
    metadata, before = new.get("metadata") or {}, live.get("metadata") or {}
    if "uid" in metadata or "uid" not in before:
        return new
    for owned in managed.fields.values():
        if not STRIPPED_META.isdisjoint(owned.fields.get("f:metadata") or ()):
            return new
    own = {name: member for name, member in before.items() if name in META}
    return {**new, "metadata": {**own, **metadata, **own}}


def _check_unmanaged(applied: Object) -> None:
    entries = entries_of(applied)
    if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
        raise BadRequest("metadata.managedFields must be nil")


class Merged(NamedTuple):
    """object: of an apply; finished: ``finish`` has seen it. What an apply leaves as it is does not
    go through it."""

    object: Object
    finished: bool


class FieldManager:
    """Managed fields of one kind.

    kind, schemas, convert: see `Versions`. filters: subresource → apiVersion → filter of fields
    that the write may own at all (see `apiserver.fieldmanager.reset`). plain: an object as
    nothing but dictionaries, lists and scalars; compared: as an update compares it. finish: decodes
    and defaults what apply merged, in the request's version, and fills in what that left out; its
    ValueError is reported as kube-apiserver reports a failing conversion of the merged object.
    unmanageable: why an apply to an object that nobody manages fails, "" where it does not.
    """

    def __init__(
        self,
        kind: str,
        schemas: Callable[[str], Schema | None],
        convert: Callable[[Object, str], Object],
        filters: Mapping[str, Mapping[str, Filter]] | None = None,
        finish: Callable[[Object, list[Empty]], Object] | None = None,
        plain: Callable[[Object], Object] = lambda obj: obj,
        compared: Callable[[Object], Object] = lambda obj: obj,
        unmanageable: str = "",
    ) -> None:
        versions = self._versions = Versions(kind, schemas, convert)
        self._finish = finish
        self._plain = plain
        self._compared = compared
        self._unmanageable = unmanageable
        self._updaters: dict[str, Updater[Manager]] = {
            subresource: Updater(versions.type, convert, by_version)
            for subresource, by_version in (filters or {}).items()
        }
        self._default_updater: Updater[Manager] = Updater(versions.type, convert, {})

    # --- create, update, patch --------------------------------------------------------------------
    def update(
        self,
        live: Object | None,
        new: Object,
        manager: str,
        *,
        api_version: str,
        subresource: str = "",
        now: datetime,
        empties: Sequence[Empty] = (),
    ) -> Object:
        """``new`` with the managedFields after ``manager`` made it of ``live`` (None: create). Both
        are decoded and defaulted.

        ``new`` says what happens to managedFields unless this is a subresource: left out, null or
        invalid keeps those of ``live``; an empty list or one empty entry clears them; valid entries
        replace them. Never fails: where an object does not fit its type, the result has no
        managedFields at all. Entries of a manager whose set does not change keep their time.
        ``empties``: what decoding left out of ``new``."""
        managed = self._managed_of(live, new, subresource)
        bare = without_entries(new)
        exists = bool(((live or {}).get("metadata") or {}).get("uid"))
        if not managed.fields and exists:
            return with_entries(bare, [])
        try:
            before = self._versions.convert(
                self._versions.empty(api_version) if live is None else without_entries(live),
                api_version,
            )
            seen = self._compared(before)
            after = _with_identity(self._compared(bare), before, managed)
            if empties and live is not None:
                after = with_told_apart(self._versions.type(api_version), after, empties)
            managed = self._updated(
                seen, after, managed, manager or _UNKNOWN, api_version, subresource, now
            )
        except (ValueError, MissingVersion):
            return with_entries(bare, [])
        return with_entries(bare, encode_entries(cap_update_managers(managed)))

    def _managed_of(self, live: Object | None, new: Object, subresource: str) -> Managed:
        entries = None if subresource else entries_of(new)
        if is_reset(entries):
            return Managed()
        if entries:
            try:
                return decode_entries(entries)
            except InvalidManagedFields:
                pass
        try:
            return decode_entries(entries_of(live))
        except InvalidManagedFields:
            return Managed()

    def _updated(
        self,
        live: Object,
        new: Object,
        managed: Managed,
        name: str,
        version: str,
        subresource: str,
        now: datetime,
    ) -> Managed:
        """The change is booked on a manager of its own first, so that a write which takes nothing
        leaves no trace."""
        updater = self._updater(subresource)
        new = self._versions.convert(new, version)
        if equal(live, new):
            kept = updater.reconciled(live, managed.fields)
            return Managed(
                {manager: owned for manager, owned in kept.items() if owned.fields}, managed.times
            )
        t = updater.type(version)
        if not self._versions.decoded(version):
            with failing(lambda: f"failed to convert new object ({identity(new)}) to smd typed"):
                validate(t, new, allow_duplicates=True)
            with failing(lambda: f"failed to convert live object ({identity(live)}) to smd typed"):
                validate(t, live, allow_duplicates=True)
        with failing(lambda: f"failed to update ManagedFields ({identity(new)})"):
            fields = updater.update(live, new, version, managed.fields, _SELF)
        times = managed.times
        mine = fields.pop(_SELF, None)
        if mine is not None:
            taken = owned_part(mine.fields)
            if taken:
                manager = manager_of(name, "Update", version, subresource)
                previous = fields.get(manager)
                fields[manager] = Owned(
                    union(taken, previous.fields) if previous else taken, version, False
                )
                times = {**times, manager: format_time(now)}
        return Managed(fields, times)

    # --- apply ------------------------------------------------------------------------------------
    def apply(
        self,
        live: Object | None,
        applied: Object,
        manager: str,
        *,
        force: bool,
        api_version: str,
        subresource: str = "",
        now: datetime,
    ) -> Object:
        """The object of `merge`."""
        return self.merge(
            live,
            applied,
            manager,
            force=force,
            api_version=api_version,
            subresource=subresource,
            now=now,
        ).object

    def merge(
        self,
        live: Object | None,
        applied: Object,
        manager: str,
        *,
        force: bool,
        api_version: str,
        subresource: str = "",
        now: datetime,
        empties: list[Empty] | None = None,
    ) -> Merged:
        """What ``applied`` makes of ``live`` (None or without uid: create), with managedFields;
        equal to ``live`` for a no-op. ``empties``: is filled with what ``finish`` left out.

        The result is not decoded or defaulted unless ``finish`` was given. Raises BadRequest for an
        object of another kind or version and for managedFields in it, ApplyConflict without force,
        PlainError (500) where ``applied`` does not fit the schema."""
        version = self._check_kind(applied, api_version)
        live = (
            live if live and live.get("kind") else {**self._versions.empty(version), **(live or {})}
        )
        before, managed = self._parts(live, version)
        seen = self._plain(before)
        if not managed.fields:
            managed = self._before_first_apply(seen, managed, version, subresource, now)
        _check_unmanaged(applied)
        try:
            merged, managed = self._applied(
                seen, applied, managed, manager or _UNKNOWN, force, version, subresource, now
            )
        except Conflicts as error:
            raise conflict_error(error.conflicts) from error
        if merged is None:
            result = copy_json(before)
        else:
            result = self._finished(merged, applied, version, [] if empties is None else empties)
        if manager == lastapplied.MANAGER:
            result = lastapplied.refreshed(result, applied)
        return Merged(with_entries(result, encode_entries(managed)), merged is not None)

    def _parts(self, live: Object, version: str) -> tuple[Object, Managed]:
        """The live object in the version, without managedFields, and these."""
        try:
            managed = decode_entries(entries_of(live))
        except InvalidManagedFields as error:
            raise PlainError(f"failed to decode managed fields: {error}") from error
        try:
            return self._versions.convert(without_entries(live), version), managed
        except (ValueError, MissingVersion) as error:
            raise PlainError(
                f"failed to convert live object ({identity(live)}) to proper version: {error}"
            ) from error

    def _check_kind(self, applied: Object, api_version: str) -> str:
        applied_version, kind = applied.get("apiVersion"), applied.get("kind")
        if applied_version != api_version or kind != self._versions.kind:
            raise BadRequest(f"invalid object type: {group_version_kind(applied_version, kind)}")
        return api_version

    def _before_first_apply(
        self, live: Object, managed: Managed, version: str, subresource: str, now: datetime
    ) -> Managed:
        """An object that nobody manages: what it holds is booked on one Update manager, so that
        apply conflicts with it."""
        try:
            if self._unmanageable:
                raise ValueError(self._unmanageable)
            return cap_update_managers(
                self._updated(
                    self._versions.empty(version),
                    live,
                    managed,
                    _BEFORE_FIRST_APPLY,
                    version,
                    subresource,
                    now,
                )
            )
        except (ValueError, MissingVersion) as error:
            raise PlainError(f"failed to create manager for existing fields: {error}") from error

    def _applied(
        self,
        live: Object,
        applied: Object,
        managed: Managed,
        name: str,
        force: bool,
        version: str,
        subresource: str,
        now: datetime,
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
            kept = owned_part(mine.fields)
            if kept:
                fields[manager] = mine._replace(fields=kept)
            else:
                del fields[manager]
        times = managed.times if merged is None else {**managed.times, manager: format_time(now)}
        return merged, Managed(fields, times)

    def _validated(self, live: Object, applied: Object, version: str) -> Type:
        t = self._versions.type(version)
        if t is None:
            raise PlainError(
                f"failed to create typed patch object ({identity(applied)}): no corresponding "
                f"type for {kind_of(applied)}"
            )
        try:
            validate(t, applied)
        except TypedError as error:
            raise PlainError(
                f"failed to create typed patch object ({identity(applied)}): {error}"
            ) from error
        if not self._versions.decoded(version):
            try:
                validate(t, live, allow_duplicates=True)
            except TypedError as error:
                raise PlainError(
                    f"failed to create typed live object ({identity(live)}): {error}"
                ) from error
        return t

    def _run(
        self,
        updater: Updater[Manager],
        live: Object,
        applied: Object,
        managed: Managed,
        manager: Manager,
        force: bool,
        version: str,
    ) -> tuple[Object | None, dict[Manager, Owned]]:
        try:
            return updater.apply(live, applied, version, managed.fields, manager, force=force)
        except (ValueError, MissingVersion) as error:
            raise PlainError(str(error)) from error

    def _finished(
        self, merged: Object, applied: Object, version: str, empties: list[Empty]
    ) -> Object:
        """An object that shares nothing with what it was merged of: decoding a built-in one makes
        it anew."""
        if self._finish is None:
            return copy_json(merged)
        try:
            finished = self._finish(merged, empties)
            return finished if self._versions.decoded(version) else copy_json(finished)
        except ApiError:
            raise
        except ValueError as error:
            raise PlainError(
                f"failed to convert new object ({identity(applied)}) to proper version: {error}"
            ) from error

    def _updater(self, subresource: str) -> Updater[Manager]:
        return self._updaters.get(subresource, self._default_updater)
