"""AlwaysAdmit and AlwaysDeny: for tests of what stands around admission (kubernetes
``plugin/pkg/admission/{admit,deny}``)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.refusal import forbidden


class AlwaysAdmit:
    name = "AlwaysAdmit"

    def handles(self, attributes: Attributes) -> bool:
        return False

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Never called."""


class AlwaysDeny:
    name = "AlwaysDeny"

    def handles(self, attributes: Attributes) -> bool:
        return True

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        why = "admission control is denying all modifications"
        raise forbidden(attributes, why)

    validate = admit
