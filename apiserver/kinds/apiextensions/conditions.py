"""Conditions of a CustomResourceDefinition and the names that it is given
(k8s.io/apiextensions-apiserver ``controller/status``, ``controller/establish``,
``controller/apiapproval``, ``controller/nonstructuralschema``)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.golang.strconv import go_quote
from apiserver.kinds.apiextensions.approval import approval, is_protected
from apiserver.kinds.apiextensions.cabundle import bundle_of, bundle_problem
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time
from apiserver.schema.structural_rules import conversion_error, structural_errors

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def find(crd: Object, kind: str) -> Object | None:
    return next(
        (c for c in (crd.get("status") or {}).get("conditions") or () if c.get("type") == kind),
        None,
    )


def is_true(crd: Object, kind: str) -> bool:
    condition = find(crd, kind)
    return condition is not None and condition.get("status") == "True"


def set_condition(
    crd: Object, kind: str, status: bool, reason: str, message: str, now: datetime
) -> None:
    """In place; the time stays when the status does."""
    condition: Object = {
        "type": kind,
        "status": str(status),
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }
    current = find(crd, kind)
    if current is None:
        crd["status"]["conditions"] = [*(crd["status"].get("conditions") or ()), condition]
        return
    if current.get("status") == condition["status"] and current.get("lastTransitionTime"):
        condition["lastTransitionTime"] = current["lastTransitionTime"]
    current.update(condition)


def is_served(crd: Object) -> bool:
    return is_true(crd, "Established") or is_true(crd, "NamesAccepted")


def settle(crd: Object, others: Iterable[Object], now: datetime) -> None:
    """Brings the status up to date with the spec, in place: accepted names, NamesAccepted,
    Established and, where they apply, the conditions about approval and structure. ``others``: all
    definitions of the tenant (this one may be among them). A definition without versions, as an
    outline is, keeps what it says about structure."""
    _settle_names(crd, others, now)
    group = crd["spec"].get("group", "")
    if is_protected(group):
        state, why = approval(crd["metadata"].get("annotations"))
        reason = {
            "missing": "Missing",
            "invalid": "Invalid",
            "bypassed": "Unapproved",
            "approved": "Approved",
        }[state]
        set_condition(
            crd,
            "KubernetesAPIApprovalPolicyConformant",
            state == "approved",
            f"{reason}Annotation",
            why,
            now,
        )
    if "versions" not in crd["spec"]:
        return
    wrong = _non_structural(crd)
    if wrong:
        set_condition(crd, "NonStructuralSchema", True, "Violations", wrong, now)
    elif find(crd, "NonStructuralSchema"):
        crd["status"]["conditions"] = [
            c for c in crd["status"]["conditions"] if c.get("type") != "NonStructuralSchema"
        ]


def _settle_names(crd: Object, others: Iterable[Object], now: datetime) -> None:
    """A definition that has exactly the names that it wants is not looked at: one that gives up a
    name that it did not get keeps the condition that says so, as upstream."""
    if find(crd, "NamesAccepted") is None or _given(crd["spec"].get("names")) != _given(
        crd["status"].get("acceptedNames")
    ):
        accepted, conflict = _accept(crd, others)
        crd["status"]["acceptedNames"] = accepted
        reason, text = conflict or ("NoConflicts", "no conflicts found")
        set_condition(crd, "NamesAccepted", conflict is None, reason, text, now)
    if is_true(crd, "Established"):
        return
    if not is_true(crd, "NamesAccepted"):
        if find(crd, "Established") is None:
            set_condition(
                crd, "Established", False, "NotAccepted", "not all names are accepted", now
            )
    elif bundle_problem(bundle_of(crd["spec"])):
        set_condition(
            crd,
            "Established",
            False,
            "InvalidCABundle",
            "The conversion webhook CABundle is invalid",
            now,
        )
    else:
        set_condition(
            crd,
            "Established",
            True,
            "InitialNamesAccepted",
            "the initial names have been accepted",
            now,
        )


def _given(names: Object | None) -> Object:
    return {member: value for member, value in (names or {}).items() if value}


def _accept(crd: Object, others: Iterable[Object]) -> tuple[Object, tuple[str, str] | None]:
    """(the names that it gets, (reason, message) of the last conflict)."""
    requested = crd["spec"].get("names") or {}
    names: Object = dict(crd["status"].get("acceptedNames") or {})
    resources, kinds = _taken(crd, others)
    conflict: tuple[str, str] | None = None

    def claim(member: str, taken: set[str], reason: str) -> None:
        nonlocal conflict
        name = requested.get(member, "")
        if name != names.get(member, "") and name in taken:
            conflict = reason, f"{go_quote(name)} is already in use"
        elif name or member in ("plural", "kind"):
            names[member] = name
        else:
            names.pop(member, None)

    claim("plural", resources, "PluralConflict")
    claim("singular", resources, "SingularConflict")
    short = requested.get("shortNames") or []
    if short != (names.get("shortNames") or []):
        mine = set(names.get("shortNames") or ())
        clashes = list(
            dict.fromkeys(
                f"{go_quote(n)} is already in use"
                for n in short
                if n not in mine and n in resources
            )
        )
        if clashes:
            conflict = (
                "ShortNamesConflict",
                clashes[0] if len(clashes) == 1 else f"[{', '.join(clashes)}]",
            )
        else:
            _put(names, "shortNames", short)
    claim("kind", kinds, "KindConflict")
    claim("listKind", kinds, "ListKindConflict")
    _put(names, "categories", requested.get("categories") or [])
    return names, conflict


def _put(names: Object, member: str, value: list[str]) -> None:
    if value:
        names[member] = value
    else:
        names.pop(member, None)


def _taken(crd: Object, others: Iterable[Object]) -> tuple[set[str], set[str]]:
    """Names of resources and of kinds that definitions of the group hold."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["spec"].get("group") != crd["spec"].get("group"):
            continue
        held: Any = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {
            held.get("plural", ""),
            held.get("singular", ""),
            *(held.get("shortNames") or ()),
        }
        kinds |= {held.get("kind", ""), held.get("listKind", "")}
    return resources, kinds


def _non_structural(crd: Object) -> str:
    """Why the schemas are not structural; only definitions from before that was required can be
    so."""
    problems = []
    for i, version in enumerate(crd["spec"].get("versions") or ()):
        props = (version.get("schema") or {}).get("openAPIV3Schema")
        if props is not None and not conversion_error(props):
            path = FieldPath("spec.versions").at(i).child("schema", "openAPIV3Schema")
            problems += [str(e) for e in structural_errors(props, path)]
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
