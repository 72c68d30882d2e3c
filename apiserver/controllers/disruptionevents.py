"""What the disruption controller tells of budgets and their pods (kubernetes
``pkg/controller/disruption``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apiserver.controllers.correlation import Said
from apiserver.controllers.disruptionstatus import Pod, asks_scales
from apiserver.kinds.common import selectors
from apiserver.meta.objects import ReadOnlyObject

SOURCE = "controllermanager"

NO_PODS = Said("Normal", "NoPods", "No matching pods found")


def unreadable(why: str) -> Said:
    """The selector selects nothing that could be listed."""
    return Said("Warning", "NoPods", f"Failed to get pods: {why}")


def uncountable(why: str) -> Said:
    text = f"Failed to calculate the number of expected pods: {why}"
    return Said("Warning", "CalculateExpectedPodCountFailed", text)


def of_counted(budget: ReadOnlyObject, chosen: Sequence[Pod]) -> Iterator[Said]:
    """Of a budget whose pods have been counted. Pods that nobody runs are told of where shares
    of what their controllers run are asked for: they count for nothing there."""
    if not chosen:
        yield NO_PODS
    if asks_scales(budget["spec"]) and any(pod.controller is None for pod in chosen):
        selector = selectors.as_go_prints(budget["spec"].get("selector"))
        text = (
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be "
            "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
            "may result in undefined behavior. To account for these pods please set "
            '".spec.minAvailable" field of the PDB to an integer value.'
        )
        yield Said("Warning", "UnmanagedPods", text)


def kept(budget: ReadOnlyObject) -> Said:
    """Of a pod that an eviction was to delete. Upstream says the namespace in the place of the
    budget's name."""
    of = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
    text = f"Pod was expected by PDB {of} to be deleted but it wasn't"
    return Said("Warning", "NotDeleted", text)
