"""Requests for devices in a claim (resource.k8s.io/v1): defaults and the shape of each request.

CEL selectors and opaque configurations are checked by whoever evaluates them.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fielderrors import FieldPath, duplicate, invalid, required, too_many
from apiserver.kinds.base import Object
from apiserver.kinds.common import checks as c

_MODES = ["All", "ExactCount"]
_MOST_REQUESTS, _MOST_ALTERNATIVES = 32, 8


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
        yield too_many(at, len(requests), _MOST_REQUESTS)
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
        yield too_many(path.child("firstAvailable"), len(alternatives), _MOST_ALTERNATIVES)
    for i, entry in enumerate(alternatives):
        yield from _name(entry.get("name", ""), path.child("firstAvailable").at(i).child("name"))
        yield from _entry(entry, path.child("firstAvailable").at(i))


def _entry(entry: Object, path: FieldPath) -> c.Errors:
    if not entry.get("deviceClassName"):
        yield required(path.child("deviceClassName"))
    else:
        yield from c.dns_subdomain(entry["deviceClassName"], path.child("deviceClassName"))
    mode, count = entry.get("allocationMode"), entry.get("count", 0)
    yield from c.one_of(mode, path.child("allocationMode"), _MODES)
    if mode == "All" and count:
        yield invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'")
    if mode == "ExactCount" and count <= 0:
        yield invalid(path.child("count"), count, c.NOT_POSITIVE)
