"""What is left in a terminating namespace, and how its conditions say so (kubernetes
``pkg/controller/namespace/deletion/status_condition_utils.go``). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

_FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""Reason and message of each condition where nothing is wrong, in the order in which they are
added."""


@dataclass
class Remains:
    """errors: one for each resource that could not be deleted; counts: objects by version, resource
    and finalizers."""

    errors: list[str]
    counts: Counter[tuple[str, GroupResource, tuple[str, ...]]] = field(default_factory=Counter)

    @property
    def anything(self) -> bool:
        return bool(self.errors or self.counts)

    def add(
        self, version: str, resource: GroupResource, finalizers: Sequence[str], count: int
    ) -> None:
        self.counts[version, resource, tuple(finalizers)] += count

    def finalized(self, resource: GroupResource) -> bool:
        """Whether some object of the resource waits for a finalizer."""
        return any(finalizers for _, r, finalizers in self.counts if r == resource)


def unexpected(namespace: str, version: str, resource: GroupResource) -> str:
    """Nothing explains why objects of that resource are still there."""
    gvr = f"{resource.group}/{version}, Resource={resource.resource}"
    return f"unexpected items still remain in namespace: {namespace} for gvr: {gvr}"


def set_conditions(status: Object, remains: Remains, at: datetime) -> bool:
    """Brings the conditions up to date, in place; whether that changes any."""
    wrong = _wrong(remains)
    conditions: list[Object] = status.setdefault("conditions", [])
    changed = False
    for kind, fine in _FINE.items():
        state, (reason, message) = ("True", wrong[kind]) if kind in wrong else ("False", fine)
        new = {"type": kind, "status": state, "reason": reason, "message": message}
        old = next((c for c in conditions if c.get("type") == kind), None)
        if old is None:
            conditions.append({**new, "lastTransitionTime": format_time(at)})
        elif any(old.get(member) != value for member, value in new.items()):
            if old.get("status") != state:
                old["lastTransitionTime"] = format_time(at)
            old.update(new)
        else:
            continue
        changed = True
    return changed


def _wrong(remains: Remains) -> dict[str, tuple[str, str]]:
    wrong: dict[str, tuple[str, str]] = {}
    if remains.errors:
        wrong["NamespaceDeletionContentFailure"] = (
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(remains.errors)} remaining: "
            f"{', '.join(sorted(remains.errors))}",
        )
    resources, finalizers = Counter[str](), Counter[str]()
    for (_, resource, names), count in remains.counts.items():
        resources[f"{resource.resource}.{resource.group}"] += count
        for name in names:
            finalizers[name] += count
    if resources:
        parts = sorted(f"{name} has {n} resource instances" for name, n in resources.items())
        wrong["NamespaceContentRemaining"] = (
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(parts)}",
        )
    if finalizers:
        parts = sorted(f"{name} in {n} resource instances" for name, n in finalizers.items())
        wrong["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {', '.join(parts)}",
        )
    return wrong
