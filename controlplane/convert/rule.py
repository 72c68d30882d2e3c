"""What the rules of `manage.py convert` are made of: a `Removal` for each version that Kubernetes
has removed, with a function that changes an object of it.

Source of all rules in this package: the "Deprecated API Migration Guide" of the Kubernetes
documentation. Where a default changed between the versions, the old default is written into the
manifest, which so means what it meant; what cannot be decided here is said in a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object


class Conversion:
    """One object on its way: ``obj`` is changed in place, ``notes`` are for the person who reads
    the result."""

    def __init__(self, obj: Object, source: GroupVersionKind) -> None:
        self.obj, self.source = obj, source
        self.notes: list[str] = []

    @property
    def spec(self) -> Object:
        spec = self.obj.get("spec")
        if not isinstance(spec, dict):
            spec = self.obj["spec"] = {}
        return spec

    def note(self, text: str) -> None:
        self.notes.append(text)

    def keep_default(self, where: Object, name: str, old: Any, path: str) -> None:
        """Writes the old version's default where the manifest relied on it."""
        if name not in where:
            where[name] = old
            self.note(
                f"{path}.{name}: {old!r} was the default of {self.source.api_version} and is "
                f"another one now; written down"
            )


Change = Callable[[Conversion], None]


@dataclass(frozen=True, slots=True)
class Removal:
    """A version that is no longer served. release: the one that removed it; replacement: what to
    use instead, None when there is nothing; change: what differs besides apiVersion, None for
    nothing."""

    source: GroupVersionKind
    release: str
    replacement: GroupVersionKind | None
    change: Change | None = None


def as_list(value: Any) -> list[Object]:
    """The dictionaries of a list; manifests may hold anything."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def as_object(parent: Object, name: str) -> Object | None:
    """A member, if it is a dictionary."""
    value = parent.get(name)
    return value if isinstance(value, dict) else None


def rename(where: Object, old: str, new: str) -> None:
    if old in where:
        where[new] = where.pop(old)
