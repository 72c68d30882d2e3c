"""Where the proxy subresources of pods and services lead, as far as the API server finds out
before it connects to anything.

Source: ``ResourceLocation`` of kubernetes ``pkg/registry/core/pod`` and ``service/storage``, and
``SplitSchemeNamePort`` of k8s.io/apimachinery ``util/net``.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver.errors import BadRequest, ServiceUnavailable
from apiserver.golang.netip import Address, parse_ip_sloppy
from apiserver.golang.strconv import NumError, go_quote, parse_int
from apiserver.meta.objects import Object

_SCHEMES = ("", "http", "https")
UNREACHED = "error trying to reach service: this server connects to no pod"


class Target(NamedTuple):
    """What a name in the URL says: "name", "name:port" or "scheme:name:port"."""

    name: str
    port: str

    @property
    def number(self) -> int | None:
        """The port, if it is asked for by its number."""
        try:
            return parse_int(self.port)
        except NumError:
            return None


def target_of(singular: str, asked: str) -> Target:
    """``singular``: of the resource, for the error. Raises BadRequest."""
    parts = asked.split(":")
    scheme = parts.pop(0) if len(parts) == 3 else ""
    name, port = (*parts, "")[:2]
    if len(parts) > 2 or not name or scheme not in _SCHEMES:
        raise BadRequest(f"invalid {singular} request {go_quote(asked)}")
    return Target(name, port)


def check_pod(pod: Object) -> None:
    """A pod needs an address that leads somewhere. Raises BadRequest."""
    addresses = (pod.get("status") or {}).get("podIPs") or [{}]
    ip = parse_ip_sloppy(addresses[0].get("ip") or "")
    if ip is None or not Address(int(ip), ip.max_prefixlen).is_global_unicast:
        raise BadRequest("address not allowed")


def port_name(service: Object, number: int) -> str:
    """Name of the service's port of that number. Raises ServiceUnavailable."""
    for declared in service["spec"].get("ports") or ():
        if declared["port"] == number:
            return str(declared.get("name") or "")
    name = service["metadata"]["name"]
    raise ServiceUnavailable(f"no service port {number} found for service {go_quote(name)}")


def check_endpoints(endpoints: Object, asked: str, port: str) -> None:
    """One of the service's ready endpoints has to be a pod of its namespace that listens on the
    port named ``port``; ``asked`` is the name in the URL. Raises ServiceUnavailable."""
    name, namespace = endpoints["metadata"]["name"], endpoints["metadata"]["namespace"]
    subsets = endpoints.get("subsets") or ()
    for subset in subsets:
        pods = any(
            (address.get("targetRef") or {}).get("namespace") == namespace
            for address in subset.get("addresses") or ()
        )
        if pods and any((p.get("name") or "") == port for p in subset.get("ports") or ()):
            return
    none = go_quote(asked if subsets else name)
    raise ServiceUnavailable(f"no endpoints available for service {none}")
