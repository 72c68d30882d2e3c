"""DenyServiceExternalIPs: no service gets further external IPs (kubernetes
``plugin/pkg/admission/network/denyserviceexternalips``)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import WRITES, OfObjects
from admission.refusal import forbidden
from apiserver.meta.gvk import GroupResource

SERVICES = GroupResource("", "services")


class DenyServiceExternalIPs(OfObjects):
    name = "DenyServiceExternalIPs"
    resources = frozenset({SERVICES})
    operations = WRITES

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        new, old = (
            set(((service or {}).get("spec") or {}).get("externalIPs") or ())
            for service in (attributes.object, attributes.old)
        )
        if not new <= old:
            why = "Use of external IPs is denied by admission control"
            raise forbidden(attributes, why)
