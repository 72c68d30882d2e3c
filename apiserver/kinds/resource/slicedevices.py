"""Devices and shared counters of a ResourceSlice."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apiserver.fielderrors import FieldPath, forbidden, invalid, required, too_long, too_many
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.scheduling import node_selector
from apiserver.kinds.resource import devices as d
from apiserver.kinds.resource.requestpolicy import policy_errors
from apiserver.meta.objects import Object

_MOST_VALUES = 48
_MOST_MEMBERS, _MOST_COUNTERS, _MOST_CONSUMED, _MOST_TAINTS = 32, 32, 2, 16
_VALUE_BYTES, _NAME_CHARACTERS = 64, 63 + len("/") + 32
_PRE, _BUILD = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)", r"[0-9a-zA-Z-]+"
_SEMVER = re.compile(
    rf"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-{_PRE}(\.{_PRE})*)?(\+{_BUILD}(\.{_BUILD})*)?",
    re.ASCII,
)
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_NO_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)


def drop_disabled(value: Object) -> None:
    """``value``: a device, without what DRAListTypeAttributes and DRANodeAllocatableResources
    would add: both are off in 1.36, and no stored slice has any of it."""
    value.pop("nodeAllocatableResourceMappings", None)
    for attribute in (value.get("attributes") or {}).values():
        for name in ("ints", "bools", "strings", "versions"):
            attribute.pop(name, None)


def device(value: Object, old: Object | None, path: FieldPath, *, placed: bool) -> c.Errors:
    """old: the device of that name in the stored slice; placed: each device says for itself on
    which nodes it is."""
    yield from c.dns_label(value.get("name") or "", path.child("name"))
    attributes, capacity = value.get("attributes") or {}, value.get("capacity") or {}
    if len(attributes) + len(capacity) > _MOST_MEMBERS:
        text = f"the total number of attributes and capacities must not exceed {_MOST_MEMBERS}"
        yield invalid(path, len(attributes) + len(capacity), text)
    if len(attributes) > _MOST_VALUES:
        text = f"the total number of attribute values must not exceed {_MOST_VALUES}"
        yield invalid(path, len(attributes), text)
    yield from _members(attributes, _attribute, path.child("attributes"))
    if old is None or (old.get("capacity") or {}) != capacity:
        yield from _members(
            capacity,
            _shared if value.get("allowMultipleAllocations") else _whole,
            path.child("capacity"),
        )
    if old is None or (old.get("taints") or []) != (value.get("taints") or []):
        yield from d.each(value.get("taints"), _MOST_TAINTS, d.taint, path.child("taints"))
    consumed = value.get("consumesCounters")
    yield from d.each_once(
        consumed,
        _MOST_CONSUMED,
        _consumption,
        lambda v: v.get("counterSet") or "",
        path.child("consumesCounters"),
    )
    yield from _place(value, path) if placed else _no_place(value, path)
    yield from d.binding_conditions(value, path)


def _members(
    values: Mapping[str, Object], check: Callable[[Object, FieldPath], c.Errors], path: FieldPath
) -> c.Errors:
    for key, value in sorted(values.items()):
        yield from d.qualified_name(key, path)
        yield from check(value, path.key(_shortened(key)))


def _shortened(key: str) -> str:
    """The middle of what is longer than any name may be."""
    over = len(key) > _NAME_CHARACTERS
    kept = _NAME_CHARACTERS - len("...")
    return f"{key[: (kept + 1) // 2]}...{key[-(kept // 2) :]}" if over else key


def _attribute(value: Object, path: FieldPath) -> c.Errors:
    chosen = [
        member for member in ("bool", "int", "string", "version") if value.get(member) is not None
    ]
    version = value.get("version")
    if version is not None and not _SEMVER.fullmatch(version):
        yield invalid(
            path.child("version"), version, "must be a string compatible with semver.org spec 2.0.0"
        )
    for member in ("string", "version"):
        if len((value.get(member) or "").encode()) > _VALUE_BYTES:
            yield too_long(path.child(member), _VALUE_BYTES)
    if len(chosen) != 1:
        quoted = quote("resource.v1.DeviceAttribute", value) if chosen else ""
        yield invalid(path, quoted, "exactly one value must be specified")


def _whole(value: Object, path: FieldPath) -> c.Errors:
    if value.get("requestPolicy") is not None:
        yield forbidden(path.child("requestPolicy"), "allowMultipleAllocations must be true")


def _shared(value: Object, path: FieldPath) -> c.Errors:
    if value.get("requestPolicy") is not None:
        capacity = value.get("value") or "0"
        yield from policy_errors(value["requestPolicy"], capacity, path.child("requestPolicy"))


def counter_set(value: Object, path: FieldPath) -> c.Errors:
    return _counters(value, "name", path)


def _consumption(value: Object, path: FieldPath) -> c.Errors:
    return _counters(value, "counterSet", path)


def _counters(value: Object, name: str, path: FieldPath) -> c.Errors:
    if not value.get(name):
        yield required(path.child(name))
    else:
        yield from c.dns_label(value[name], path.child(name))
    counters, at = value.get("counters") or {}, path.child("counters")
    if not counters:
        yield required(at)
    elif len(counters) > _MOST_COUNTERS:
        yield too_many(at, len(counters), _MOST_COUNTERS)
    else:
        for key in sorted(counters):
            yield from c.dns_label(key, at)


def _place(value: Object, path: FieldPath) -> c.Errors:
    chosen, name = [], value.get("nodeName")
    if name:
        chosen.append("`nodeName`")
        yield from c.dns_subdomain(name, path.child("nodeName"))
    elif name is not None:
        yield invalid(path.child("nodeName"), name, "must not be empty")
    if value.get("nodeSelector") is not None:
        chosen.append("`nodeSelector`")
        yield from node_selector(value["nodeSelector"], path.child("nodeSelector"))
    if value.get("allNodes"):
        chosen.append("`allNodes`")
    elif value.get("allNodes") is not None:
        yield invalid(path.child("allNodes"), False, "must be either unset or set to true")
    if not chosen:
        yield required(path, _ONE_PLACE)
    elif len(chosen) > 1:
        yield invalid(path, f"{{{', '.join(chosen)}}}", _ONE_PLACE)


def _no_place(value: Mapping[str, Any], path: FieldPath) -> c.Errors:
    if any(value.get(member) is not None for member in ("nodeName", "nodeSelector", "allNodes")):
        yield invalid(path, None, _NO_PLACE)
