"""Node (k8s.io/kubernetes ``registry/core/node``, ValidateNode). There are no nodes here, but
clients may create the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.fielderrors import ErrorType, FieldError, FieldErrors, duplicate, forbidden, invalid
from apiserver.kinds import formats
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, resources, scheduling, table
from apiserver.kinds.common.addresses import parse_cidr
from apiserver.kinds.common.internal import quote
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, seen_before

_CIDRS = checks.root("spec", "podCIDRs")
_ROLE = "node-role.kubernetes.io/"


@register("", "Node")
class Node(Kind):
    generation = False
    status = True

    def default(self, obj: Object, version: str) -> None:
        status = obj.setdefault("status", {})
        if status.get("allocatable") is None and status.get("capacity") is not None:
            status["allocatable"] = dict(status["capacity"])
        _sync_cidrs(obj.setdefault("spec", {}))

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        """Unlike other kinds, a node keeps the status that it is created with."""
        obj["spec"].pop("configSource", None)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        errors = list(
            scheduling.taints(spec.get("taints") or (), checks.root("metadata", "taints"))
        )
        errors += _amounts(obj.get("status") or {})
        return errors + list(_cidrs(spec.get("podCIDRs") or []))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(_update(obj, old))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return [*_amounts(obj.get("status") or {}), *_update(obj, old)]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        texts = []
        if obj["spec"].get("configSource") is not None:
            texts.append("spec.configSource: the feature is removed")
        if obj["spec"].get("externalID"):
            texts.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        return texts

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        info = (obj.get("status") or {}).get("nodeInfo") or {}
        system = [
            info.get(field) or "<unknown>"
            for field in ("osImage", "kernelVersion", "containerRuntimeVersion")
        ]
        addresses = [_address(obj, kind) for kind in ("InternalIP", "ExternalIP")]
        roles = ",".join(_roles(obj)) or "<none>"
        return [
            table.name(obj),
            _status(obj),
            roles,
            table.created(obj, now),
            info.get("kubeletVersion", ""),
            *addresses,
            *system,
        ]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {
            "spec.unschedulable": "true"
            if (obj.get("spec") or {}).get("unschedulable")
            else "false"
        }


def _sync_cidrs(spec: Object) -> None:
    """podCIDR is the older twin of podCIDRs[0] (the conversion of v1 keeps them equal)."""
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and not one:
        spec["podCIDR"] = many[0]


def _amounts(status: Mapping[str, Any]) -> checks.Errors:
    for field in ("capacity", "allocatable"):
        for name, value in sorted((status.get(field) or {}).items()):
            yield from resources.amount(name, value, checks.root("status", field, name))


def _cidrs(values: Sequence[str]) -> checks.Errors:
    for i, value in enumerate(values):
        yield from checks.rule(value, _CIDRS.at(i), formats.cidr)
    if len(values) > 1:
        yield from _unreadable(values)
        families = {":" in value for value in values}
        if len(families) < 2 or len(values) > 2:
            yield invalid(
                _CIDRS, list(values), "may specify no more than one CIDR for each IP family"
            )
        yield from checks.unique(values, _CIDRS)


def _unreadable(values: Sequence[str]) -> checks.Errors:
    """The search for a range of each family stops at the first that is none."""
    for i, value in enumerate(values):
        if parse_cidr(value) is None:
            why = f"invalid CIDR[{i}]: <nil> (invalid CIDR address: {value})"
            text = f"invalid PodCIDRs. failed to check with dual stack with error:{why}"
            yield FieldError(ErrorType.INTERNAL, _CIDRS, None, text)
            return


def _update(obj: Object, old: Object) -> checks.Errors:
    """Nodes keep what is set once: CIDRs, provider, external id."""
    spec, before = obj["spec"], old.get("spec") or {}
    addresses = (obj.get("status") or {}).get("addresses") or ()
    for i, (address, again) in enumerate(zip(addresses, seen_before(addresses), strict=True)):
        if again:
            yield duplicate(
                checks.root("status", "addresses").at(i),
                quote("core.v1.NodeAddress", address),
            )
    new_cidrs, old_cidrs = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    if old_cidrs:
        why = 'node updates may not change podCIDR except from "" to valid'
        if len(new_cidrs) != len(old_cidrs):
            yield forbidden(_CIDRS, why)
        for new, was in (
            zip(new_cidrs, old_cidrs, strict=False) if len(new_cidrs) == len(old_cidrs) else ()
        ):
            if new != was:
                yield forbidden(_CIDRS, why)
    if before.get("providerID") and before["providerID"] != spec.get("providerID", ""):
        yield forbidden(
            checks.root("spec", "providerID"),
            'node updates may not change providerID except from "" to valid',
        )
    if spec.get("externalID", "") != before.get("externalID", ""):
        yield forbidden(checks.root("spec", "externalID"), "may not be updated")


def _status(obj: Object) -> str:
    states = []
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            states = ["Ready" if condition.get("status") == "True" else "NotReady"]
    states = states or ["Unknown"]
    if obj["spec"].get("unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _roles(obj: Object) -> list[str]:
    roles = set()
    for key, value in (obj["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE) and len(key) > len(_ROLE):
            roles.add(key.removeprefix(_ROLE))
        elif key == "kubernetes.io/role" and value:
            roles.add(value)
    return sorted(roles)


def _address(obj: Object, kind: str) -> str:
    addresses = (obj.get("status") or {}).get("addresses") or ()
    return next((a.get("address", "") for a in addresses if a.get("type") == kind), "<none>")
