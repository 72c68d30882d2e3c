"""Update and Apply over managed sets: who gains and loses fields, what conflicts, what is pruned.

Pure bookkeeping over typed objects; names, times and metadata are managed.py's and manager.py's
business. Source: structured-merge-diff ``merge/update.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import TracebackType
from typing import Generic, NamedTuple, TypeVar

from apiserver.fieldmanager.combine import combine
from apiserver.fieldmanager.compare import Comparison, compare
from apiserver.fieldmanager.fieldpath import (
    FieldSet,
    Filter,
    Path,
    difference,
    intersection,
    members,
    union,
)
from apiserver.fieldmanager.reconcile import reconcile
from apiserver.fieldmanager.remove import remove
from apiserver.fieldmanager.typed import field_set, named_fields_as_members, validate
from apiserver.fieldmanager.types import Type
from apiserver.meta.equality import equal
from apiserver.meta.objects import Object

Name = TypeVar("Name", bound=Hashable)


class MissingVersion(Exception):
    """The object's kind has no such version (any more): its managers are dropped."""


class Owned(NamedTuple):
    """What one manager owns, in the terms of one apiVersion; applied: by Apply, else by Update."""

    fields: FieldSet
    version: str
    applied: bool


class Conflict(NamedTuple, Generic[Name]):
    """A field that another manager owns with another value."""

    manager: Name
    path: Path


class Conflicts(Exception, Generic[Name]):
    """Raised by apply without force."""

    def __init__(self, conflicts: list[Conflict[Name]]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


class failing:
    """Puts before a ValueError what was being done, as Go's wrapped errors have it. ``what``: the
    text, or what makes it when needed."""

    __slots__ = ("_what",)

    def __init__(self, what: str | Callable[[], str]) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, ValueError):
            what = self._what if isinstance(self._what, str) else self._what()
            raise ValueError(f"{what}: {error}") from error


class Updater(Generic[Name]):
    """types: apiVersion → Type (None: no such version). convert: an object to an apiVersion; raises
    MissingVersion or ValueError. filters: apiVersion → filter of fields that may be owned at all.
    Managers are known by any hashable name."""

    def __init__(
        self,
        types: Callable[[str], Type | None],
        convert: Callable[[Object, str], Object],
        filters: Mapping[str, Filter],
    ) -> None:
        self._types = types
        self._convert = convert
        self._filters = filters

    def type(self, version: str) -> Type:
        cached = self._types(version)
        if cached is None:
            raise MissingVersion(version)
        return cached

    def convert(self, obj: Object, version: str) -> Object:
        """Raises MissingVersion, or ValueError when conversion fails or its result does not fit its
        type."""
        if obj.get("apiVersion") == version:
            return obj
        converted = self._convert(obj, version)
        validate(self.type(version), converted)
        return converted

    def update(
        self, live: Object, new: Object, version: str, managers: dict[Name, Owned], manager: Name
    ) -> dict[Name, Owned]:
        """The managers after ``manager`` wrote ``new`` over ``live``. Takes what it changed from
        all others; never conflicts."""
        if managers:
            managers = self.reconciled(live, managers)
            managers, changes = self._transfer(live, new, version, managers, manager, force=True)
        else:
            managers, changes = {}, self._changes(live, new, version)
        mine = managers.get(manager)
        fields = union(changes.modified, changes.added)
        if mine is not None:
            fields = union(difference(mine.fields, changes.removed), fields)
        keep = self._filters.get(version)
        if keep is not None:
            fields = keep(fields)
        managers[manager] = Owned(fields, version, False)
        if not fields:
            del managers[manager]
        return managers

    def apply(
        self,
        live: Object,
        intent: Object,
        version: str,
        managers: dict[Name, Owned],
        manager: Name,
        *,
        force: bool,
    ) -> tuple[Object | None, dict[Name, Owned]]:
        """(the merged object, None when it equals ``live``; the managers). Raises Conflicts,
        TypedError, ValueError."""
        managers = self.reconciled(live, managers)
        t = self.type(version)
        with failing("failed to merge config"):
            merged: Object = combine(t, live, intent)
        last = managers.get(manager)
        fields = field_set(t, intent)
        keep = self._filters.get(version)
        if keep is not None:
            fields = keep(fields)
        managers[manager] = Owned(fields, version, True)
        with failing("failed to prune fields"):
            merged = self._prune(merged, managers, manager, last)
        managers, _ = self._transfer(live, merged, version, managers, manager, force=force)
        return (None if equal(live, merged) else merged), managers

    def reconciled(self, live: Object, managers: Mapping[Name, Owned]) -> dict[Name, Owned]:
        """The managers under today's types; those of versions that are gone are left out."""
        result: dict[Name, Owned] = {}
        for name, owned in managers.items():
            try:
                self.convert(live, owned.version)
                fields = reconcile(self.type(owned.version), owned.fields)
            except MissingVersion:
                continue
            result[name] = owned if fields is owned.fields else owned._replace(fields=fields)
        return result

    # --- changes of ownership ---------------------------------------------------------------------
    def _transfer(
        self,
        live: Object,
        new: Object,
        version: str,
        managers: dict[Name, Owned],
        manager: Name,
        *,
        force: bool,
    ) -> tuple[dict[Name, Owned], Comparison]:
        """Every other manager loses the fields that ``new`` changes, adds or removes against
        ``live``. Without force, those that it changes or adds raise Conflicts instead."""
        changes = self._changes(live, new, version)
        by_version = {version: changes}
        taken: dict[Name, FieldSet] = {}
        result = dict(managers)
        for name, owned in managers.items():
            if name == manager:
                continue
            owned_fields = by_version.get(owned.version)
            if owned_fields is None:
                try:
                    owned_fields = self._compare_at(live, new, owned.version)
                except MissingVersion:
                    del result[name]
                    continue
                by_version[owned.version] = owned_fields
            conflict = intersection(owned.fields, union(owned_fields.modified, owned_fields.added))
            if conflict:
                taken[name] = conflict
            if conflict or owned_fields.removed:
                result[name] = owned._replace(
                    fields=difference(difference(owned.fields, conflict), owned_fields.removed)
                )
        if taken and not force:
            raise Conflicts(
                [Conflict(name, path) for name, fields in taken.items() for path in members(fields)]
            )
        return {name: owned for name, owned in result.items() if owned.fields}, changes

    def _changes(self, live: Object, new: Object, version: str) -> Comparison:
        with failing("failed to compare objects"):
            return compare(self.type(version), live, new).filtered(self._filters.get(version))

    def _compare_at(self, live: Object, new: Object, version: str) -> Comparison:
        with failing("failed to convert old object"):
            live = self.convert(live, version)
        with failing("failed to convert new object"):
            new = self.convert(new, version)
        return compare(self.type(version), live, new).filtered(self._filters.get(version))

    # --- pruning ----------------------------------------------------------------------------------
    def _prune(
        self, merged: Object, managers: dict[Name, Owned], manager: Name, last: Owned | None
    ) -> Object:
        """Removes what ``manager`` applied last time, does not apply now, and nobody else owns."""
        if last is None or not last.fields:
            return merged
        now = managers[manager]
        if last.version == now.version and not difference(last.fields, now.fields):
            return merged  # nothing was given up
        try:
            with failing("failed to convert merged object to last applied version"):
                merged = self.convert(merged, last.version)
        except MissingVersion:
            return merged
        t = self.type(last.version)
        given_up = named_fields_as_members(t, last.fields)
        there = field_set(t, merged, named=True)
        pruned = remove(t, merged, given_up)
        with failing("failed add back owned items"):
            pruned = self._add_back_owned(merged, there, pruned, last.version, managers)
        try:
            with failing(
                "failed add back dangling items: failed to convert pruned object to last applied "
                "version"
            ):
                pruned = self.convert(pruned, last.version)
        except MissingVersion:
            return merged
        # of what is still gone, only what the manager owned itself may go
        gone = intersection(difference(there, field_set(t, pruned, named=True)), given_up)
        return self.convert(remove(t, merged, gone), now.version)

    def _add_back_owned(
        self,
        merged: Object,
        there: FieldSet,
        pruned: Object,
        version: str,
        managers: Mapping[Name, Owned],
    ) -> Object:
        """What any manager owns comes back, in the version that was pruned first. there: the fields
        of ``merged`` in that version."""
        by_version: dict[str, FieldSet] = {}
        for owned in managers.values():
            by_version[owned.version] = union(by_version.get(owned.version, {}), owned.fields)
        for at in sorted(by_version, key=lambda v: (v != version, v)):
            try:
                with failing(f"failed to convert merged object at version {at}"):
                    merged_at = self.convert(merged, at)
                with failing(f"failed to convert pruned object at version {at}"):
                    pruned_at = self.convert(pruned, at)
            except MissingVersion:
                continue
            t = self.type(at)
            there_at = there if at == version else field_set(t, merged_at, named=True)
            kept = union(
                field_set(t, pruned_at, named=True), named_fields_as_members(t, by_version[at])
            )
            pruned = remove(t, merged_at, difference(there_at, kept))
        return pruned
