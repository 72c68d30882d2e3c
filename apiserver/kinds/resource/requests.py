"""Requests for devices in a claim (resource.k8s.io/v1): defaults and the shape of each request.

CEL selectors and opaque configurations are checked by whoever evaluates them.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fielderrors import FieldPath, duplicate, invalid, required, too_many
from apiserver.kinds.base import Object
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.run import covered

_MODES = ["All", "ExactCount"]
_MOST_REQUESTS, _MOST_ALTERNATIVES = 32, 8

_NAMES_OF_REQUESTS = [t.optional(), t.list_type("atomic"), t.unique("set"), t.max_items(32)]
_ALTERNATIVES = "devices.requests[*].firstAvailable"
CLAIM_RULES = {
    "devices.requests": [t.alpha(t.optional()), t.alpha(t.max_items(_MOST_REQUESTS))],
    "devices.requests[*].exactly.deviceClassName": [t.alpha(t.required()), t.alpha(t.format("k8s-long-name"))],
    "devices.requests[*].exactly.selectors": [t.optional(), t.max_items(32)],
    _ALTERNATIVES: [t.alpha(t.optional()), t.alpha(t.max_items(_MOST_ALTERNATIVES))],
    f"{_ALTERNATIVES}[*].deviceClassName": [t.alpha(t.required()), t.alpha(t.format("k8s-long-name"))],
    f"{_ALTERNATIVES}[*].selectors": [t.optional(), t.max_items(32)],
    "devices.constraints": [t.optional(), t.max_items(32)],
    "devices.constraints[*].requests": _NAMES_OF_REQUESTS,
    "devices.constraints[*].matchAttribute": [t.optional(), t.format("k8s-resource-fully-qualified-name")],
    "devices.config": [t.optional(), t.max_items(32)],
    "devices.config[*].requests": _NAMES_OF_REQUESTS,
    "devices.config[*].opaque.driver": [t.custom(csi_driver_name)],
}
"""Of a claim's spec; what requests say is checked by hand below."""


def default_claim(spec: Object) -> None:
    for entry in _entries(spec):
        if not entry.get("allocationMode"):
            entry["allocationMode"] = "ExactCount"
        if entry["allocationMode"] == "ExactCount" and not entry.get("count"):
            entry["count"] = 1


def _requests(spec: Object) -> list[Object]:
    return (spec.get("devices") or {}).get("requests") or []


def _entries(spec: Object) -> Iterator[Object]:
    for request in _requests(spec):
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or []


def claim_errors(spec: Object, path: FieldPath) -> c.Errors:
    requests, at = _requests(spec), path.child("devices", "requests")
    if len(requests) > _MOST_REQUESTS:
        yield from covered([too_many(at, len(requests), _MOST_REQUESTS)], "maxItems")
    seen: set[str] = set()
    for i, request in enumerate(requests):
        name = request.get("name", "")
        yield from _name(name, at.at(i).child("name"))
        if name in seen:
            yield duplicate(at.at(i).child("name"), name)
        seen.add(name)
        yield from _choice(request, at.at(i))


def _name(name: str, path: FieldPath) -> c.Errors:
    if not name:
        yield required(path)
    else:
        yield from c.dns_label(name, path)


def _choice(request: Object, path: FieldPath) -> c.Errors:
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        yield required(path, "exactly one of `exactly` or `firstAvailable` is required")
    elif exactly is not None and alternatives:
        yield invalid(path, None, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set")
    elif exactly is not None:
        yield from _entry(exactly, path.child("exactly"))
    if len(alternatives) > _MOST_ALTERNATIVES:
        yield from covered([too_many(path.child("firstAvailable"), len(alternatives), _MOST_ALTERNATIVES)], "maxItems")
    for i, entry in enumerate(alternatives):
        yield from _name(entry.get("name", ""), path.child("firstAvailable").at(i).child("name"))
        yield from _entry(entry, path.child("firstAvailable").at(i))


def _entry(entry: Object, path: FieldPath) -> c.Errors:
    if not entry.get("deviceClassName"):
        yield from covered([required(path.child("deviceClassName"))])
    else:
        yield from covered(c.dns_subdomain(entry["deviceClassName"], path.child("deviceClassName")), "format=k8s-long-name")
    mode, count = entry.get("allocationMode"), entry.get("count", 0)
    yield from c.one_of(mode, path.child("allocationMode"), _MODES)
    if mode == "All" and count:
        yield invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'")
    if mode == "ExactCount" and count <= 0:
        yield invalid(path.child("count"), count, c.NOT_POSITIVE)
