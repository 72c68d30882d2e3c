"""Cluster IPs and node ports of Services: what a Service needs, and which free values it gets.
Pure; the registry knows what is in use.

Sources: kubernetes ``pkg/registry/core/service/storage/alloc.go``, ``ipallocator``,
``portallocator``. Like upstream, free values come at random from the upper band of a range first,
so that values that people pick by hand (mostly low ones) stay free; the lower band is used when the
upper one is full. One IP family (IPv4) is configured. Where there are several ranges, the first one
that has a free address gives it (upstream: any of them).

Use, on create and update right after admission: ``set_ip_families``, then ``needs``; with the
values that the tenant's services hold, ``assign`` puts the values in or says why not; validation
comes after that.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common.addresses import IPV4, IPV6, family
from apiserver.kinds.core import service_fields as f
from apiserver.kinds.core.service_ranges import DEFAULT_RANGE, Range
from apiserver.kinds.formats import parse_ip
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object

SERVICE = GroupKind("", "Service")
NODE_PORTS = range(30000, 32768)

_SPEC = FieldPath("spec")
_NOTHING: Object = {"spec": {}}


class AllocationFailed(Exception):
    """No free value is left; the message belongs into a 500 InternalError."""


@dataclass(frozen=True, slots=True)
class Requests:
    """cluster_ip: the address asked for, "" for any, None for none; node_ports: per port the number
    asked for, 0 for any, None for none; health_check: the same for healthCheckNodePort. Values that
    the old object holds already are not asked for again."""

    create: bool
    cluster_ip: str | None
    node_ports: tuple[int | None, ...]
    health_check: int | None

    @property
    def anything(self) -> bool:
        return (
            self.cluster_ip is not None
            or self.health_check is not None
            or any(p is not None for p in self.node_ports)
        )


def cluster_ips_of(service: Object) -> list[str]:
    """Addresses that this stored service holds."""
    return (
        [ip for ip in f.cluster_ips(service) if ip != f.NONE] if f.needs_cluster_ip(service) else []
    )


def node_ports_of(service: Object) -> list[int]:
    """Node ports that this stored service holds, for any protocol."""
    node_ports = [port["nodePort"] for port in f.ports(service) if port.get("nodePort")]
    check = service["spec"].get("healthCheckNodePort")
    return [*node_ports, check] if check else node_ports


def needs(service: Object, old: Object | None) -> Requests:
    """What is to be allocated for a create (``old`` None) or an update."""
    return Requests(
        old is None,
        _wanted_ip(service, old),
        tuple(_wanted_ports(service, old)),
        _wanted_check(service, old),
    )


def _wanted_ip(service: Object, old: Object | None) -> str | None:
    if not f.needs_cluster_ip(service) or f.headless(service):
        return None
    if old is not None and f.needs_cluster_ip(old) and f.cluster_ips(old):
        return None
    return next(iter(f.cluster_ips(service)), "")


def _wanted_ports(service: Object, old: Object | None) -> Iterator[int | None]:
    held = {port["nodePort"] for port in f.ports(old or _NOTHING) if port.get("nodePort")}
    for port in f.ports(service):
        number = port.get("nodePort", 0)
        if (
            not f.may_have_node_ports(service)
            or number in held
            or not (number or f.wants_node_ports(service))
        ):
            yield None
        else:
            yield number


def _wanted_check(service: Object, old: Object | None) -> int | None:
    if not f.needs_health_check(service) or (old is not None and f.needs_health_check(old)):
        return None
    return int(service["spec"].get("healthCheckNodePort", 0))


def assign(
    service: Object,
    requests: Requests,
    used_ips: Collection[str],
    used_ports: Collection[int],
    *,
    ranges: Sequence[Range] = (DEFAULT_RANGE,),
    dry_run: bool = False,
) -> FieldErrors:
    """Puts the allocated values into ``service``. ``used_*``: all values that services of the
    tenant hold, this one's included; ``ranges``: where addresses come from.

    Returns errors of the first value that cannot be had; raises AllocationFailed. A dry run does as
    upstream's: an address in use passes, a node port in use does not, a new address is that of its
    network, and new node ports are dummies above the range."""
    ports = _Ports(set(used_ports), dry_run)
    return (
        _assign_ip(service, requests.cluster_ip, used_ips, ranges, dry_run)
        or _assign_ports(service, requests, ports)
        or _assign_check(service, requests.health_check, ports)
    )


def _assign_ip(
    service: Object,
    requested: str | None,
    used: Collection[str],
    ranges: Sequence[Range],
    dry_run: bool,
) -> FieldErrors:
    if requested is None:
        return []
    spec = service["spec"]
    if not requested:
        requested = _dummy_ip(ranges) if dry_run else _free_ip(used, ranges)
        if not requested:
            name = go_quote(service["metadata"].get("name", ""))
            raise AllocationFailed(
                f"failed to allocate a serviceIP for Service {name}: range is full"
            )
    else:
        why = _ip_refused(requested, used, ranges, dry_run)
        if why:
            return [
                invalid(
                    _SPEC.child("clusterIPs"),
                    f.cluster_ips(service),
                    f"failed to allocate IP {requested}: {why}",
                )
            ]
    spec["clusterIP"] = requested
    spec["clusterIPs"] = [requested, *f.cluster_ips(service)[1:]]
    return []


def _ip_refused(
    requested: str, used: Collection[str], ranges: Sequence[Range], dry_run: bool
) -> str:
    address = parse_ip(requested)
    around = [r.network for r in ranges if address is not None and address in r.network]
    if not around and not dry_run:
        return "the provided network does not match the current range"
    if address is None or not any(int(address) in _hosts(network) for network in around):
        network = around[0] if around else (*(r.network for r in ranges), DEFAULT_RANGE.network)[0]
        return (
            f"the provided IP ({requested}) is not in the valid range. The range of valid "
            f"IPs is {network}"
        )
    return "provided IP is already allocated" if str(address) in used and not dry_run else ""


def _hosts(network: ipaddress.IPv4Network) -> range:
    """The addresses that Services may have, as numbers: neither the first nor the last one."""
    return range(int(network.network_address) + 1, int(network.broadcast_address))


def band(size: int, step: int, largest: int) -> int:
    """How many values at the start of a range of ``size`` are kept for hand-picked ones: a
    ``step``-th, at least 16 and at most ``largest``; none in a range of 16 and less (KEP-3070,
    KEP-3668)."""
    return 0 if size <= 16 else min(max(16, size // step), largest)


def _free_ip(used: Collection[str], ranges: Sequence[Range]) -> str:
    """ "" when there is none."""
    taken = {int(ipaddress.IPv4Address(ip)) for ip in used if family(ip) == IPV4}
    for network in (r.network for r in ranges):
        free = _free(_hosts(network), taken, band(network.num_addresses, 16, 256))
        if free is not None:
            return str(ipaddress.IPv4Address(free))
    return ""


def _dummy_ip(ranges: Sequence[Range]) -> str:
    """No Service can have it, and it is the same each time: what a dry run shows differs from an
    earlier one in what was changed."""
    return next((str(r.network.network_address) for r in ranges), "")


def _free(values: range, taken: Collection[int], lower: int) -> int | None:
    """A free value: from a random start upwards and around, in the upper band, then in the lower
    one."""
    for part in (values[lower:], values[:lower]):
        # spreads values, hides nothing
        start = random.randrange(len(part)) if part else 0  # noqa: S311
        for i in range(len(part)):
            value = part[(start + i) % len(part)]
            if value not in taken:
                return value
    return None


class _Ports:
    """Node ports during one write."""

    def __init__(self, taken: set[int], dry_run: bool) -> None:
        self.taken, self.dry_run = taken, dry_run
        self.mine: set[int] = set()

    def take(self, number: int) -> str:
        """Why ``number`` cannot be had, or "" and it is taken."""
        if number in self.taken:
            return "provided port is already allocated"
        if number not in NODE_PORTS and not self.dry_run:
            return (
                f"provided port is not in the valid range. The range of valid ports is "
                f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
            )
        self._mark(number)
        return ""

    def next(self) -> int:
        if self.dry_run:
            number = max(self.mine, default=NODE_PORTS.stop) + 1
        else:
            port = _free(NODE_PORTS, self.taken, band(len(NODE_PORTS), 32, 128))
            if port is None:
                raise AllocationFailed("failed to allocate a nodePort: range is full")
            number = port
        self._mark(number)
        return number

    def _mark(self, number: int) -> None:
        self.taken.add(number)
        self.mine.add(number)


def _assign_ports(service: Object, requests: Requests, pool: _Ports) -> FieldErrors:
    """On create, ports of the same number (DNS over TCP and UDP) share a node port, which no port
    of another number may have."""
    by_number: dict[int, int] = {}
    ports = f.ports(service)
    given = {p.get("port"): p["nodePort"] for p in reversed(ports) if p.get("nodePort")}
    for i, (port, requested) in enumerate(zip(ports, requests.node_ports, strict=True)):
        if requested is None:
            continue
        number = port["port"]
        shared = by_number.get(number, 0)
        if requests.create and not shared:
            requested = given.get(number, 0)
        node_port = requested or shared or pool.next()
        if requested and requested not in ((shared,) if requests.create else pool.mine):
            why = pool.take(requested)
            if why:
                return [invalid(_SPEC.child("ports").at(i).child("nodePort"), requested, why)]
        port["nodePort"] = node_port
        if requests.create:
            by_number.setdefault(number, node_port)
    return []


def _assign_check(service: Object, requested: int | None, pool: _Ports) -> FieldErrors:
    if requested is None:
        return []
    if requested == 0:
        service["spec"]["healthCheckNodePort"] = pool.next()
        return []
    why = pool.take(requested)
    if not why:
        return []
    return [
        invalid(
            _SPEC.child("healthCheckNodePort"),
            requested,
            f"failed to allocate requested HealthCheck NodePort {requested}: {why}",
        )
    ]


# --- IP families ----------------------------------------------------------------------------------
def set_ip_families(service: Object, old: Object | None) -> FieldErrors:
    """Sets ipFamilyPolicy and ipFamilies from what is there and what the cluster has (IPv4 alone);
    in place.

    ``spec.clusterIPs`` must have been checked before (`service_validation.cluster_ips_errors`)."""
    spec = service["spec"]
    if not f.needs_cluster_ip(service) or _same_prefer_dual_stack(service, old):
        return []
    selectorless = spec.get("clusterIP") == f.NONE and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        inherited = (old or {}).get("spec", {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = inherited or (
            "RequireDualStack" if selectorless else "SingleStack"
        )
    errors = _policy_errors(service, old) + _infer_families(service)
    if errors:
        return errors
    if selectorless:
        families = f.ip_families(service) or [IPV4]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families = [*families, IPV6 if families[0] == IPV4 else IPV4]
        spec["ipFamilies"] = families
        return []
    errors = _missing_families(service)
    if not errors:
        spec["ipFamilies"] = f.ip_families(service) or [IPV4]
    return errors


def _missing_families(service: Object) -> FieldErrors:
    """What the service asks for and the cluster does not have."""
    policy = service["spec"]["ipFamilyPolicy"]
    errors: FieldErrors = []
    if policy == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        errors.append(invalid(_SPEC.child("ipFamilyPolicy"), policy, text))
    path = _SPEC.child("ipFamilies")
    return errors + [
        invalid(path.at(i), x, "not configured on this cluster")
        for i, x in enumerate(f.ip_families(service))
        if x != IPV4
    ]


def _same_prefer_dual_stack(service: Object, old: Object | None) -> bool:
    """A PreferDualStack service is left alone until one of its fields changes."""
    if old is None or service["spec"].get("ipFamilyPolicy") not in (None, "PreferDualStack"):
        return False
    names = ("clusterIP", "clusterIPs", "ipFamilies")
    return old["spec"].get("ipFamilyPolicy") == "PreferDualStack" and all(
        service["spec"].get(n) == old["spec"].get(n) for n in names
    )


def _policy_errors(service: Object, old: Object | None) -> FieldErrors:
    spec, path = service["spec"], _SPEC.child("ipFamilyPolicy")
    ips, families, policy = f.cluster_ips(service), f.ip_families(service), spec["ipFamilyPolicy"]
    errors: FieldErrors = []
    if policy == "SingleStack":
        if old is not None and ips == f.cluster_ips(old) and len(ips) > 1:
            spec["clusterIPs"] = ips = ips[:1]
        if old is not None and families == f.ip_families(old) and len(families) > 1:
            spec["ipFamilies"] = families = families[:1]
        several = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
        if len(ips) == 2:
            errors.append(invalid(path, policy, several.format("cluster IPs")))
        if len(families) == 2:
            errors.append(invalid(path, policy, several.format("IP families")))
    elif old is not None:
        if ips and len(ips) == 1 and len(f.cluster_ips(old)) == 2:
            errors.append(
                invalid(path, policy, "must be 'SingleStack' to release the secondary cluster IP")
            )
        if families and len(families) == 1 and len(f.ip_families(old)) == 2:
            errors.append(
                invalid(path, policy, "must be 'SingleStack' to release the secondary IP family")
            )
    return errors


def _infer_families(service: Object) -> FieldErrors:
    spec, ips, families = service["spec"], f.cluster_ips(service), list(f.ip_families(service))
    errors: FieldErrors = []
    for i, ip in enumerate(ips):
        if ip == f.NONE:
            break
        if i >= len(families):
            if family(ip) != IPV4:
                errors.append(
                    invalid(
                        _SPEC.child("clusterIPs").at(i),
                        ips,
                        f"{family(ip)} is not configured on this cluster",
                    )
                )
            else:
                families.append(IPV4)
    if not errors and families:
        spec["ipFamilies"] = families
    return errors
