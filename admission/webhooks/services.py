"""From a Service to an address that can be called.

Nothing here routes cluster IPs, so a Service stands for its endpoints: ready ones of its
EndpointSlices, else those of its Endpoints object; or for its external name. Where none of them
exist, the texts are those of k8s.io/apiserver ``pkg/util/proxy``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from admission.attributes import Lookup
from admission.webhooks.errors import ServiceError
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

_SERVICES = GroupResource("", "services")
_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_ENDPOINTS = GroupResource("", "endpoints")
_SERVICE_NAME = "kubernetes.io/service-name"


class Endpoint(NamedTuple):
    """host: an address or, for external names, a name."""

    host: str
    port: int


async def resolve(lookup: Lookup, namespace: str, name: str, port: int) -> Endpoint:
    """One endpoint, of several any. Raises ServiceError."""
    service = await lookup.get(_SERVICES, namespace, name)
    if service is None:
        raise ServiceError(f'service "{name}" not found')
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return Endpoint(spec.get("externalName", ""), port)
    port_spec = next((p for p in spec.get("ports") or () if p.get("port") == port), None)
    if port_spec is None:
        raise ServiceError(f'no service port {port} found for service "{name}"')
    port_name = port_spec.get("name") or ""
    slices = [s for s in await lookup.list(_SLICES, namespace) if _of_service(s, name)]
    ready = [endpoint for s in slices for endpoint in _in_slice(s, port_name)]
    if not ready:
        endpoints = await lookup.get(_ENDPOINTS, namespace, name)
        ready = list(_in_endpoints(endpoints or {}, port_name))
    if not ready:
        raise ServiceError(f'no endpoints available for service "{name}"')
    return random.choice(ready)  # noqa: S311  spread, not secrecy


def _of_service(part: Object, name: str) -> bool:
    return (part["metadata"].get("labels") or {}).get(_SERVICE_NAME) == name


def _in_slice(part: Object, port_name: str) -> Iterator[Endpoint]:
    port = _port(part.get("ports"), port_name)
    for endpoint in part.get("endpoints") or ():
        ready = (endpoint.get("conditions") or {}).get("ready")
        addresses = endpoint.get("addresses")
        if port and ready is not False and addresses:
            yield Endpoint(addresses[0], port)


def _in_endpoints(endpoints: Object, port_name: str) -> Iterator[Endpoint]:
    for subset in endpoints.get("subsets") or ():
        port = _port(subset.get("ports"), port_name)
        for address in subset.get("addresses") or ():
            if port:
                yield Endpoint(address["ip"], port)


def _port(ports: list[Mapping[str, Any]] | None, name: str) -> int:
    return next((p.get("port") or 0 for p in ports or () if (p.get("name") or "") == name), 0)
