"""Names and amounts of compute resources: what may be requested, limited, offered and limited by
quota.

Source: k8s.io/kubernetes ``apis/core/validation`` and ``apis/core/helper``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from apiserver.fielderrors import (
    FieldPath,
    GoSyntax,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from apiserver.kinds.common import checks
from apiserver.meta import names
from apiserver.meta.once import once
from apiserver.meta.quantity import parse_quantity

ResourceList = Mapping[str, str]
HUGEPAGES = "hugepages-"

_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_QUOTA = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD = _QUOTA | {"storage"}
_INTEGER = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_POD_LEVEL = ("cpu", "memory")


def is_hugepages(name: str) -> bool:
    return name.startswith(HUGEPAGES)


def is_native(name: str) -> bool:
    """Unprefixed names and those of kubernetes.io."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name("requests." + name)


def is_integer(name: str) -> bool:
    return name in _INTEGER or is_extended(name)


def may_overcommit(name: str) -> bool:
    """Requests below limits make sense: native resources but huge pages."""
    return is_native(name) and not is_hugepages(name)


def is_quota_name(name: str) -> bool:
    return name in _QUOTA or is_hugepages(name) or name.startswith("requests.hugepages-")


def resource_name(name: str, path: FieldPath) -> checks.Errors:
    wrong = list(checks.qualified_name(name, path))
    yield from wrong
    if not wrong and "/" not in name and name not in _STANDARD and not is_quota_name(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource_name(name: str, path: FieldPath) -> checks.Errors:
    yield from resource_name(name, path)
    if "/" not in name:
        if name not in _CONTAINER and not is_hugepages(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def pod_resource_name(name: str, path: FieldPath) -> checks.Errors:
    wrong = list(resource_name(name, path))
    yield from wrong
    if not wrong and name not in _POD_LEVEL and not is_hugepages(name):
        yield not_supported(path, name, sorted([*_POD_LEVEL, HUGEPAGES]))


def quota_resource_name(name: str, path: FieldPath) -> checks.Errors:
    yield from resource_name(name, path)
    if "/" not in name and not is_quota_name(name):
        yield invalid(path, name, "must be a standard resource for quota")


def amount(name: str, value: str, path: FieldPath) -> checks.Errors:
    """A quantity of ``name``: not negative, whole where only whole numbers make sense."""
    quantity = parse_quantity(value)
    if quantity.sign < 0:
        yield invalid(path, value, checks.NEGATIVE)
    if is_integer(name) and quantity.scaled(-3) % 1000:
        yield invalid(path, GoSyntax(f'"{value}"'), "must be an integer")


def positive_amount(value: str, path: FieldPath) -> checks.Errors:
    if parse_quantity(value).sign <= 0:
        yield invalid(path, value, checks.NOT_POSITIVE)


NameCheck = Callable[[str, FieldPath], checks.Errors]


class ClaimNames:
    """The names in a pod's spec.resourceClaims, to which each of its containers may refer."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._listed = sorted(names)
        self._names = frozenset(self._listed)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    @once
    def unknown(self) -> str:
        """What is said of a reference to another one; made once, because it tells all names."""
        return "must be one of the names in pod.spec.resourceClaims" + (
            f": {', '.join(self._listed)}" if self._listed else " which is empty"
        )


_NO_CLAIMS = ClaimNames()


def requirements(
    value: Mapping[str, Any],
    path: FieldPath,
    claims: ClaimNames = _NO_CLAIMS,
    name_check: NameCheck = container_resource_name,
) -> checks.Errors:
    """ResourceRequirements of a container or a pod; ``claims``: names in spec.resourceClaims."""
    limits: ResourceList = value.get("limits") or {}
    requests: ResourceList = value.get("requests") or {}
    for name, limit in sorted(limits.items()):
        yield from name_check(name, path.child("limits").key(name))
        yield from amount(name, limit, path.child("limits").key(name))
        yield from _hugepages_multiple(name, limit, path.child("limits").key(name))
    for name, request in sorted(requests.items()):
        yield from name_check(name, path.child("requests").key(name))
        yield from amount(name, request, path.child("requests").key(name))
        yield from _request_within_limit(name, request, limits, path)
        yield from _hugepages_multiple(name, request, path.child("requests").key(name))
    all_names = limits.keys() | requests.keys()
    if any(map(is_hugepages, all_names)) and not all_names & {"cpu", "memory"}:
        yield forbidden(path, "HugePages require cpu or memory")
    yield from _claim_names(value.get("claims") or (), claims, path.child("claims"))


def _request_within_limit(
    name: str, request: str, limits: ResourceList, path: FieldPath
) -> checks.Errors:
    if name not in limits:
        if not may_overcommit(name):
            yield required(
                path.child("limits"), "Limit must be set for non overcommitable resources"
            )
        return
    limit = limits[name]
    if parse_quantity(request) != parse_quantity(limit) and not may_overcommit(name):
        yield invalid(path.child("requests"), request, f"must be equal to {name} limit of {limit}")
    elif parse_quantity(request) > parse_quantity(limit):
        yield invalid(
            path.child("requests"),
            request,
            f"must be less than or equal to {name} limit of {limit}",
        )


def _hugepages_multiple(name: str, value: str, path: FieldPath) -> checks.Errors:
    if not is_hugepages(name):
        return
    try:
        page = parse_quantity(name.removeprefix(HUGEPAGES)).scaled(0)
    except ValueError:
        page = 0
    number = parse_quantity(value).scaled(0)
    if not page or number <= 0 or number % page:
        yield invalid(path, value, f"{value} is not positive integer multiple of {name}")


_MOST_SLASHES = 8
"""A valid key has one."""


def _claim_names(
    used: Sequence[Mapping[str, Any]], claim_names: ClaimNames, path: FieldPath
) -> checks.Errors:
    seen: set[str] = set()
    whole: set[str] = set()  # claims of which some request is used
    for i, claim in enumerate(used):
        name, request = claim.get("name", ""), claim.get("request", "")
        at = path.at(i)
        if not name:
            yield required(at)
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            yield duplicate(at, name)
        else:
            if request:
                yield from checks.dns_label(request, at.child("request"))
            if key in seen:
                yield duplicate(at, key)
            elif not request and name in whole:
                yield duplicate(at, name)
            seen.add(key)
            whole.update(
                accumulate(key.split("/", _MOST_SLASHES)[:-1], lambda head, part: f"{head}/{part}")
            )
        if name not in claim_names:
            error = not_found(at, name)
            error.detail = claim_names.unknown
            yield error
