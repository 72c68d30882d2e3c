"""Node (k8s.io/kubernetes ``registry/core/node``, ValidateNode). There are no nodes here, but
clients may create the objects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    duplicate,
    forbidden,
    internal,
    invalid,
)
from apiserver.golang.strconv import go_quote
from apiserver.kinds import formats
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, resources, scheduling, table
from apiserver.kinds.common.address_warnings import cidr_warnings
from apiserver.kinds.common.addresses import parse_cidr
from apiserver.kinds.common.amounts import round_members
from apiserver.kinds.common.internal import quote
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, seen_before

_CIDRS = checks.root("spec", "podCIDRs")
_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_LONGEST_FEATURE = 253
_TOO_LONG_FEATURE = f"must be no more than {_LONGEST_FEATURE} characters"
_WRONG_FEATURE = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., "
    "MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_ROLE = "node-role.kubernetes.io/"


@register("", "Node")
class Node(Kind):
    generation = False
    status = True

    def default(self, obj: Object, version: str) -> None:
        status = obj.setdefault("status", {})
        if status.get("allocatable") is None and status.get("capacity") is not None:
            status["allocatable"] = dict(status["capacity"])
        round_members(status, "capacity", "allocatable")
        _sync_cidrs(obj.setdefault("spec", {}))

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        """Unlike other kinds, a node keeps the status that it is created with."""
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_update(obj, old, context)
        if old["spec"].get("configSource") is None:
            obj["spec"].pop("configSource", None)

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_status_update(obj, old, context)
        if (old.get("status") or {}).get("config") is None:
            obj.get("status", {}).pop("config", None)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [*_shared(obj), *_swap(obj), *_cidrs(obj["spec"].get("podCIDRs") or [])]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """What both halves of validation look at is told twice."""
        return [*_shared(obj), *_update(obj, old)]

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return [*_shared(obj), *_update(obj, old)]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """Of its status nothing."""
        if context.subresource:
            return []
        texts = []
        if obj["spec"].get("configSource") is not None:
            texts.append("spec.configSource: the feature is removed")
        if obj["spec"].get("externalID"):
            texts.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for i, value in enumerate(obj["spec"].get("podCIDRs") or ()):
            texts += cidr_warnings(_CIDRS.at(i), value)
        return texts

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        info = (obj.get("status") or {}).get("nodeInfo") or {}
        system = [
            info.get(field) or "<unknown>"
            for field in ("osImage", "kernelVersion", "containerRuntimeVersion")
        ]
        if info.get("architecture"):
            system[1] += f" ({info['architecture']})"
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


def _shared(obj: Object) -> checks.Errors:
    """What is asked of every write, of a new node and of its status alike."""
    taints, status = obj["spec"].get("taints") or (), obj.get("status") or {}
    yield from scheduling.taints(taints, checks.root("metadata", "taints"))
    yield from _amounts(status)
    yield from _features(status.get("declaredFeatures") or ())


def _features(names: Sequence[str]) -> checks.Errors:
    """declaredFeatures (KEP-5328): sorted, each once."""
    path = checks.root("status", "declaredFeatures")
    for i, name in enumerate(names):
        if len(name.encode()) > _LONGEST_FEATURE:
            yield invalid(path.at(i), name, _bad_feature(name, _TOO_LONG_FEATURE))
        elif not _FEATURE.fullmatch(name):
            yield invalid(path.at(i), name, _bad_feature(name, _WRONG_FEATURE))
        following = names[i + 1] if i + 1 < len(names) else None
        if following == name:
            yield duplicate(path.at(i + 1), name)
        elif following is not None and following.encode() < name.encode():
            yield invalid(path.at(i + 1), following, "list must be sorted alphabetically")


def _bad_feature(name: str, why: str) -> str:
    return f"invalid feature name {go_quote(name)}: {why}"


def _swap(obj: Object) -> checks.Errors:
    swap = ((obj.get("status") or {}).get("nodeInfo") or {}).get("swap") or {}
    yield from checks.positive(
        swap.get("capacity"), checks.root("metadata", "nodeSwapStatus", "capacity")
    )


def _cidrs(values: Sequence[str]) -> checks.Errors:
    for i, value in enumerate(values):
        yield from checks.rule(value, _CIDRS.at(i), formats.cidr)
    if len(values) > 1:
        yield from _unreadable(values)
        families = {network.version if (network := parse_cidr(v)) else None for v in values}
        if families != {4, 6} or len(values) > 2:
            yield invalid(
                _CIDRS, list(values), "may specify no more than one CIDR for each IP family"
            )


def _unreadable(values: Sequence[str]) -> checks.Errors:
    """The search for a range of each family stops at the first that is none."""
    for i, value in enumerate(values):
        if parse_cidr(value) is None:
            why = f"invalid CIDR[{i}]: <nil> (invalid CIDR address: {value})"
            text = f"invalid PodCIDRs. failed to check with dual stack with error:{why}"
            yield internal(_CIDRS, text)
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
