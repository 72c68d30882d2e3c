"""What a claim asks for (resource.k8s.io/v1 ResourceClaimSpec): defaults, requests, constraints
between them, configurations."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fielderrors import FieldPath, invalid, required
from apiserver.kinds.common import checks as c
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.rules import Rule
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.resource import devices as d
from apiserver.meta.objects import Object

_MODES = ["All", "ExactCount"]
_MOST_REQUESTS, _MOST_ALTERNATIVES, _MOST_CONSTRAINTS = 32, 8, 32
_ATTRIBUTE_FORMAT = "k8s-resource-fully-qualified-name"
_NO_ATTRIBUTE = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple '
    "fields are set"
)


def at_most(count: int) -> list[Rule]:
    return [t.alpha(t.optional()), t.alpha(t.max_items(count))]


OPAQUE_DRIVER = [
    t.alpha(t.required()),
    t.alpha(t.format("k8s-long-name-caseless")),
    t.alpha(t.max_length(63)),
]
_CLASS_NAME = [t.alpha(t.required()), t.alpha(t.format("k8s-long-name"))]
_ALTERNATIVES = "devices.requests[*].firstAvailable"
CLAIM_RULES = {
    "devices.requests": at_most(_MOST_REQUESTS),
    "devices.requests[*].exactly.deviceClassName": _CLASS_NAME,
    "devices.requests[*].exactly.selectors": at_most(32),
    _ALTERNATIVES: at_most(_MOST_ALTERNATIVES),
    f"{_ALTERNATIVES}[*].deviceClassName": _CLASS_NAME,
    f"{_ALTERNATIVES}[*].selectors": at_most(32),
    "devices.constraints": at_most(_MOST_CONSTRAINTS),
    "devices.constraints[*].requests": at_most(_MOST_REQUESTS),
    "devices.constraints[*].matchAttribute": [
        t.alpha(t.optional()),
        t.alpha(t.format(_ATTRIBUTE_FORMAT)),
    ],
    "devices.config": at_most(d.MOST_CONFIGS),
    "devices.config[*].requests": at_most(_MOST_REQUESTS),
    "devices.config[*].opaque.driver": OPAQUE_DRIVER,
}
"""Of a claim's spec; in 1.36 the hand-written rules below are the ones that count."""


def default_claim(spec: Object) -> None:
    for entry in _entries(spec):
        if not entry.get("allocationMode"):
            entry["allocationMode"] = "ExactCount"
        if entry["allocationMode"] == "ExactCount" and not entry.get("count"):
            entry["count"] = 1
        default_tolerations(entry)


def default_tolerations(entry: Object) -> None:
    for toleration in entry.get("tolerations") or ():
        toleration["operator"] = toleration.get("operator") or "Equal"


def _requests(spec: Object) -> list[Object]:
    return (spec.get("devices") or {}).get("requests") or []


def _entries(spec: Object) -> Iterator[Object]:
    for request in _requests(spec):
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or []


def request_names(spec: Object) -> d.Names:
    return {
        r.get("name") or "": {a.get("name") or "" for a in r.get("firstAvailable") or ()}
        for r in _requests(spec)
    }


def claim_errors(spec: Object, path: FieldPath) -> c.Errors:
    devices, at, names = spec.get("devices") or {}, path.child("devices"), request_names(spec)

    def constraint(value: Object, where: FieldPath) -> c.Errors:
        return _constraint(value, where, names)

    def config(value: Object, where: FieldPath) -> c.Errors:
        yield from references(value, where, names)
        yield from d.configuration(value, where)

    yield from d.each_once(
        devices.get("requests"), _MOST_REQUESTS, _request, _name_of, at.child("requests")
    )
    yield from d.each(
        devices.get("constraints"), _MOST_CONSTRAINTS, constraint, at.child("constraints")
    )
    yield from d.each(devices.get("config"), d.MOST_CONFIGS, config, at.child("config"))


def references(obj: Object, path: FieldPath, names: d.Names) -> c.Errors:
    """The ``requests`` that a constraint or a configuration is about."""

    def reference(name: str, where: FieldPath) -> c.Errors:
        return d.request_reference(name, where, names)

    return d.each_once(obj.get("requests"), _MOST_REQUESTS, reference, str, path.child("requests"))


def _name_of(request: Object) -> str:
    return request.get("name") or ""


def _request(request: Object, path: FieldPath) -> c.Errors:
    yield from c.dns_label(_name_of(request), path.child("name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        yield required(path, "exactly one of `exactly` or `firstAvailable` is required")
    elif exactly is not None and alternatives:
        yield invalid(
            path,
            None,
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
        )
    elif exactly is not None:
        yield from _entry(exactly, path.child("exactly"))
    else:
        yield from d.each_once(
            alternatives, _MOST_ALTERNATIVES, _alternative, _name_of, path.child("firstAvailable")
        )


def _alternative(entry: Object, path: FieldPath) -> c.Errors:
    yield from c.dns_label(_name_of(entry), path.child("name"))
    yield from _entry(entry, path)


def _entry(entry: Object, path: FieldPath) -> c.Errors:
    if not entry.get("deviceClassName"):
        yield from covered([required(path.child("deviceClassName"))])
    else:
        yield from covered(
            c.dns_subdomain(entry["deviceClassName"], path.child("deviceClassName")),
            "format=k8s-long-name",
        )
    yield from d.selectors(entry.get("selectors"), path.child("selectors"))
    mode, count = entry.get("allocationMode"), entry.get("count", 0)
    yield from c.one_of(mode, path.child("allocationMode"), _MODES, empty=True)
    if mode == "All" and count:
        yield invalid(
            path.child("count"), count, "must not be specified when allocationMode is 'All'"
        )
    if mode == "ExactCount" and count <= 0:
        yield invalid(path.child("count"), count, c.NOT_POSITIVE)
    for i, toleration in enumerate(entry.get("tolerations") or ()):
        yield from d.toleration(toleration, path.child("tolerations").at(i))


def _constraint(constraint: Object, path: FieldPath, names: d.Names) -> c.Errors:
    yield from references(constraint, path, names)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if match is not None:
        yield from covered(
            d.fully_qualified_name(match, path.child("matchAttribute")),
            f"format={_ATTRIBUTE_FORMAT}",
        )
    elif distinct is not None:
        yield from d.fully_qualified_name(distinct, path.child("distinctAttribute"))
    else:
        yield required(path, _NO_ATTRIBUTE)
