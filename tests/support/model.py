"""An independent model of one tenant's store: a list of states. What PostgreSQL answers is compared
with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import ObjectKey, Record


@dataclass
class Model:
    """states: (version, what exists from then on), oldest first."""

    states: list[tuple[int, dict[ObjectKey, Record]]] = field(default_factory=list)

    @property
    def now(self) -> dict[ObjectKey, Record]:
        return self.states[-1][1]

    def put(self, record: Record) -> None:
        self.states.append((record.resource_version, {**self.now, record.key: record}))

    def remove(self, key: ObjectKey, version: int) -> None:
        self.states.append((version, {k: r for k, r in self.now.items() if k != key}))

    def at(self, version: int) -> dict[ObjectKey, Record]:
        return next(state for since, state in reversed(self.states) if since <= version)

    def list(self, version: int, resource: GroupResource, namespace: str = "") -> list[Record]:
        found = [
            r
            for k, r in self.at(version).items()
            if k.group_resource == resource and namespace in ("", k.namespace)
        ]
        return sorted(found, key=lambda r: f"{r.key.namespace}/{r.key.name}".encode())
