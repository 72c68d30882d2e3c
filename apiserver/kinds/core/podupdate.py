"""What an update of a pod may change: images, deadlines, more tolerations, fewer scheduling gates
(ValidatePodUpdate)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from apiserver.fielderrors import FieldPath, forbidden, invalid, required
from apiserver.kinds.common import checks, podannotations, scheduling
from apiserver.kinds.common.alike import alike
from apiserver.kinds.common.internal import plain, quote, quote_list
from apiserver.kinds.common.jsondiff import go_diff
from apiserver.kinds.common.podspec import MAX_INT32
from apiserver.meta.names import range_error
from apiserver.meta.objects import Object, copy_json, frozen

SPEC = checks.root("spec")
_AFFINITY = SPEC.child(
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)
_CHANGEABLE = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MUTABLE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")


def validate(obj: Object, old: Object) -> checks.Errors:
    new, before = obj["spec"], old["spec"]
    annotations = obj["metadata"].get("annotations"), old["metadata"].get("annotations")
    yield from podannotations.unchanged(*annotations, checks.root("metadata", "annotations"))
    yield from podannotations.validate(annotations[0], new, checks.root("metadata", "annotations"))
    for name in ("containers", "initContainers"):
        if len(new.get(name) or ()) != len(before.get(name) or ()):
            yield forbidden(SPEC.child(name), "pod updates may not add or remove containers")
            return
        yield from _images(new.get(name) or (), SPEC.child(name))
    deadline = list(
        _deadline(new.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    )
    yield from deadline
    if deadline and new.get("activeDeadlineSeconds") is not None:
        return
    yield from _only_added_tolerations(
        new.get("tolerations") or [], before.get("tolerations") or []
    )
    yield from _only_removed_gates(
        new.get("schedulingGates") or [], before.get("schedulingGates") or []
    )
    if alike("core.v1.PodSpec", new, before):
        return
    munged = _munged(new, before)
    if before.get("schedulingGates"):
        yield from _gated(munged, before)
    if not alike("core.v1.PodSpec", munged, before):
        yield forbidden(SPEC, f"{_CHANGEABLE}\n{_diff('PodSpec', before, munged)}")


def _diff(struct: str, *values: Object) -> str:
    return go_diff(*(plain(f"core.v1.{struct}", value) for value in values))


def _images(containers: Sequence[Mapping[str, Any]], path: FieldPath) -> checks.Errors:
    for i, container in enumerate(containers):
        image = container.get("image", "")
        if not image:
            yield required(path.at(i).child("image"))
        if image != image.strip():
            yield invalid(
                path.at(i).child("image"), image, "must not have leading or trailing whitespace"
            )


def _deadline(new: int | None, old: int | None) -> checks.Errors:
    """May be set once and then only shrink."""
    path = SPEC.child("activeDeadlineSeconds")
    if new is None:
        if old is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= new <= MAX_INT32:
        yield invalid(path, new, range_error(0, MAX_INT32))
    elif old is not None and old < new:
        yield invalid(path, new, "must be less than or equal to previous value")


def _only_added_tolerations(
    new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]
) -> checks.Errors:
    def without_seconds(toleration: Mapping[str, Any]) -> Hashable:
        return frozen({k: v for k, v in toleration.items() if k != "tolerationSeconds"})

    kept = {without_seconds(t) for t in new}
    if any(without_seconds(t) not in kept for t in old):
        yield forbidden(
            SPEC.child("tolerations"),
            "existing toleration can not be modified except its tolerationSeconds",
        )
    else:
        yield from scheduling.tolerations(new, SPEC.child("tolerations"))


def _only_removed_gates(
    new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]
) -> checks.Errors:
    added = {gate.get("name", ""): i for i, gate in enumerate(new)}
    for gate in old:
        added.pop(gate.get("name", ""), None)
    for name, i in added.items():
        why = f"only deletion is allowed, but found new scheduling gate '{name}'"
        yield forbidden(SPEC.child("schedulingGates").at(i).child("name"), why)


def _munged(new: Object, before: Object) -> Object:
    """The new spec with everything that may change put back."""
    munged = copy_json(new)
    for name in ("containers", "initContainers"):
        for container, was in zip(munged.get(name) or (), before.get(name) or (), strict=True):
            container["image"] = was.get("image", "")
    for field in _MUTABLE:
        _put_back(munged, before, field)
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and munged.get(
        "terminationGracePeriodSeconds"
    ) == 1:
        munged["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return munged


def _put_back(munged: Object, before: Object, field: str) -> None:
    if field in before:
        munged[field] = before[field]
    else:
        munged.pop(field, None)


def _gated(munged: Object, before: Object) -> checks.Errors:
    """A pod that waits at a gate may be narrowed to fewer nodes (KEP-3838); puts back what was
    rightly changed."""
    selector, was = munged.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(k) != v for k, v in was.items()):
        yield invalid(
            SPEC.child("nodeSelector"),
            selector or None,
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        )
    _put_back(munged, before, "nodeSelector")
    new_affinity, old_affinity = munged.get("affinity") or {}, before.get("affinity") or {}
    new_node, old_node = new_affinity.get("nodeAffinity"), old_affinity.get("nodeAffinity")
    if new_node == old_node:
        return
    yield from _narrowed(new_node or {}, old_node or {})
    rest = {k: v for k, v in new_affinity.items() if k != "nodeAffinity"}
    if old_node is not None:
        rest["nodeAffinity"] = old_node
    if rest or "affinity" in before:
        munged["affinity"] = rest
    else:
        munged.pop("affinity", None)


def _narrowed(new: Object, old: Object) -> checks.Errors:
    kind = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = (new.get(kind) or {}).get("nodeSelectorTerms") or []
    was = (old.get(kind) or {}).get("nodeSelectorTerms") or []
    if not was:
        return
    if len(terms) != len(was):
        yield invalid(
            _AFFINITY,
            quote_list("core.v1.NodeSelectorTerm", terms or None),
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        )
        return
    for i, (term, before) in enumerate(zip(terms, was, strict=True)):
        if not _has_only_additions(term, before):
            yield invalid(
                _AFFINITY.at(i),
                quote("core.v1.NodeSelectorTerm", term),
                "only additions are allowed (no mutations or deletions)",
            )


def _has_only_additions(term: Object, before: Object) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(before.get(field) for field in fields):
        return not any(term.get(field) for field in fields)
    return all(
        (term.get(f) or [])[: len(before.get(f) or [])] == (before.get(f) or []) for f in fields
    )


def ephemeral_containers(obj: Object, old: Object) -> checks.Errors:
    """/ephemeralcontainers may only add."""
    annotations = obj["metadata"].get("annotations"), old["metadata"].get("annotations")
    yield from podannotations.unchanged(*annotations, checks.root("metadata", "annotations"))
    if podannotations.MIRROR in (annotations[1] or {}):
        yield forbidden(checks.NOWHERE, "static pods do not support ephemeral containers")
        return
    path = SPEC.child("ephemeralContainers")
    now = {c.get("name"): c for c in obj["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name", "")
        if name not in now:
            yield forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n')
        elif not alike("core.v1.EphemeralContainer", now[name], container):
            difference_text = _diff("EphemeralContainer", container, now[name])
            yield forbidden(
                path,
                f'existing ephemeral containers "{name}" may not be changed\n{difference_text}',
            )
