"""ClusterRole: rules everywhere, for cluster-scoped objects and URLs; may gather the rules of
others by labels."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import selectors
from apiserver.kinds.rbac.base import RoleKind
from apiserver.kinds.rbac.rules import GROUP
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.schema.labelselector import validate_label_selector


@register(GROUP, "ClusterRole")
class ClusterRole(RoleKind):
    of_namespace = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [*super().validate(obj, context), *_aggregation(obj.get("aggregationRule"))]


def _aggregation(rule: Object | None) -> c.Errors:
    if rule is None:
        return
    path = FieldPath("aggregationRule.clusterRoleSelectors")
    if not rule.get("clusterRoleSelectors"):
        yield required(
            path, "at least one clusterRoleSelector required if aggregationRule is non-nil"
        )
    for i, selector in enumerate(rule.get("clusterRoleSelectors") or []):
        yield from validate_label_selector(selector, path.at(i))
        if selectors.problem(selector):
            yield invalid(path.at(i), None, "invalid label selector.")
