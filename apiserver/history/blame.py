"""Blame: of each field of an object, the version that gave it its value and the manager that did,
and since when each of its owners owns it.

The versions come newest first. A field got its value in the last version that differs in it from
the one before; who did that owns it there: whoever changes a value takes it from all others. One
that changes hands without changing its value keeps its version, and has a new owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apiserver.fieldmanager.fieldpath import FieldSet, Path, has
from apiserver.fieldmanager.managed import Managed, Manager
from apiserver.fieldmanager.unowned import STRIPPED
from apiserver.history.leaves import Leaves
from apiserver.meta.equality import equal


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The object at one version."""

    number: int
    fields: Leaves
    managed: Managed

    def owners(self, path: Path) -> list[Manager]:
        return [m for m, owned in self.managed.fields.items() if has(owned.fields, path)]

    def owned_by(self, manager: Manager) -> FieldSet:
        owned = self.managed.fields.get(manager)
        return {} if owned is None else owned.fields


@dataclass(slots=True)
class Line:
    """What is known of one field. number: of the version that gave it its value, 0 while that is
    not known; manager: who did, None for what the server or admission filled in; owners: the
    managers that own it now, each with the version in which it came to, 0 while that is not
    known."""

    path: Path
    number: int = 0
    manager: Manager | None = None
    owners: dict[Manager, int] = field(default_factory=dict)


class Blame:
    """Of the newest version; `older` is then told the ones before, in turn. lines: by their paths,
    in the order of the object."""

    def __init__(self, newest: Snapshot) -> None:
        self._last = newest
        self._open = {p: v for p, v in newest.fields.items() if not has(STRIPPED, p)}
        self.lines = {path: Line(path) for path in self._open}
        self._held: dict[Manager, set[Path]] = {}
        for manager, owned in newest.managed.fields.items():
            self._held[manager] = held = _members(owned.fields) & self.lines.keys()
            for path in held:
                self.lines[path].owners[manager] = 0

    @property
    def done(self) -> bool:
        """Whether what came before could tell no more."""
        return not self._open and not any(self._held.values())

    def older(self, before: Snapshot) -> None:
        last = self._last
        for path in [p for p, v in self._open.items() if not _is_in(before.fields, p, v)]:
            self._settle(path, before)
        for manager, held in self._held.items():
            owned = before.owned_by(manager)
            if held and owned != last.owned_by(manager):
                self._since(manager, held - _members(owned))
        self._last = before

    def born(self) -> None:
        """There was nothing before the last version."""
        for path in list(self._open):
            self._settle(path, None)
        for manager, held in self._held.items():
            self._since(manager, set(held))

    def _since(self, manager: Manager, paths: set[Path]) -> None:
        """The manager came to own these in the last version."""
        for path in paths:
            self.lines[path].owners[manager] = self._last.number
        self._held[manager] -= paths

    def _settle(self, path: Path, before: Snapshot | None) -> None:
        """The last version gave the field its value."""
        del self._open[path]
        line = self.lines[path]
        line.number = self._last.number
        owners = self._last.owners(path)
        line.manager = _newest(owners, self._last, [] if before is None else before.owners(path))


def _members(fields: FieldSet) -> set[Path]:
    members: set[Path] = set()
    ahead: list[tuple[Path, FieldSet]] = [((), fields)]
    while ahead:
        prefix, node = ahead.pop()
        for element, below in node.items():
            if element != ".":
                path = (*prefix, element)
                if not below or "." in below:
                    members.add(path)
                if below:
                    ahead.append((path, below))
    return members


def _newest(owners: Sequence[Manager], at: Snapshot, before: Sequence[Manager]) -> Manager | None:
    """Who of them wrote last. There is one where the rules of ownership were kept; objects that
    came with managedFields of their own, out of a backup, may have more."""
    if len(owners) < 2:
        return owners[0] if owners else None
    return max(owners, key=lambda m: (m not in before, at.managed.times.get(m, "")))


def _is_in(fields: Mapping[Path, object], path: Path, value: object) -> bool:
    return path in fields and equal(fields[path], value)
