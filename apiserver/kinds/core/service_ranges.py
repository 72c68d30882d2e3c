"""The ranges that cluster IPs come from: what a tenant's ServiceCIDRs give (kubernetes
``pkg/registry/core/service/ipallocator/cidrallocator.go``). IPv6 is not configured."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.kinds.common.addresses import parse_cidr
from apiserver.kinds.common.metaconditions import state_of
from apiserver.meta.objects import ReadOnlyObject

CLUSTER_RANGE = ipaddress.IPv4Network("10.0.0.0/16")
DEFAULT = "kubernetes"
"""The ServiceCIDR that every tenant has; when it is deleted it comes back, and its range counts
meanwhile."""
FINALIZER = "networking.k8s.io/service-cidr-finalizer"


@dataclass(frozen=True, slots=True)
class Range:
    """uid: of its ServiceCIDR, "" where there is none; protected: that one cannot go as long as an
    address of it is in use."""

    network: ipaddress.IPv4Network
    uid: str = ""
    protected: bool = True


DEFAULT_RANGE = Range(CLUSTER_RANGE)


def ready_ranges(objects: Iterable[ReadOnlyObject]) -> Sequence[Range]:
    """``objects``: all ServiceCIDRs. The tenant's own come after the default one, by name."""
    named = {obj["metadata"]["name"]: obj for obj in objects}
    ranges = [] if DEFAULT in named else [DEFAULT_RANGE]
    for name in sorted(named, key=lambda name: (name != DEFAULT, name)):
        metadata = named[name]["metadata"]
        if not _ready(named[name]) or metadata.get("deletionTimestamp"):
            continue
        kept = name == DEFAULT or FINALIZER in (metadata.get("finalizers") or ())
        for text in (named[name].get("spec") or {}).get("cidrs") or ():
            network = parse_cidr(text)
            if isinstance(network, ipaddress.IPv4Network):
                ranges.append(Range(network, "" if name == DEFAULT else metadata["uid"], kept))
    return ranges


def _ready(obj: ReadOnlyObject) -> bool:
    """One that nobody has said anything of is."""
    return state_of(obj, "Ready") in ("True", None)


def range_of(ranges: Iterable[Range], address: str) -> Range | None:
    """One that the address belongs to."""
    parsed = ipaddress.ip_address(address)
    return next((r for r in ranges if parsed in r.network), None)
