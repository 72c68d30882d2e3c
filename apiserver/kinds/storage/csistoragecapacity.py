"""CSIStorageCapacity."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import nodelabels, selectors
from apiserver.kinds.registration import register
from apiserver.meta.equality import semantic_equal
from apiserver.meta.objects import Object
from apiserver.meta.quantity import parse_quantity
from apiserver.schema.labelselector import validate_label_selector


@register("storage.k8s.io", "CSIStorageCapacity")
class CSIStorageCapacity(Kind):
    allow_unconditional_update = False
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        errors = list(validate_label_selector(obj.get("nodeTopology"), FieldPath("nodeTopology")))
        errors += c.dns_subdomain(obj.get("storageClassName", ""), FieldPath("storageClassName"))
        amount = obj.get("capacity")
        if amount is not None and parse_quantity(amount).sign < 0:
            errors.append(invalid("capacity", amount, c.NEGATIVE))
        return errors

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        topology, name = "nodeTopology", "storageClassName"
        return [
            *c.immutable(
                obj.get(topology),
                old.get(topology),
                FieldPath(topology),
                quote=selectors.quoted,
                same=_same,
            ),
            *c.immutable(obj.get(name), old.get(name), FieldPath(name)),
        ]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        return list(nodelabels.selector(obj.get("nodeTopology"), FieldPath("nodeTopology")))


def _same(new: Object | None, old: Object | None) -> bool:
    return (new is None) == (old is None) and semantic_equal(new, old)
