"""ClusterRole: rules everywhere, for cluster-scoped objects and URLs; may gather the rules of
others by labels."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import namerules, selectors
from apiserver.kinds.rbac.rules import DECLARED_ROLE, GROUP, rule_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register(GROUP, "ClusterRole")
class ClusterRole(Kind):
    allow_create_on_update = True
    generation = False
    declared = DECLARED_ROLE
    name_rule = staticmethod(namerules.path_segment)

    def default(self, obj: Object, version: str) -> None:
        obj.setdefault("rules", None)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [
            *rule_errors(obj.get("rules"), namespaced=False),
            *_aggregation(obj.get("aggregationRule")),
        ]


def _aggregation(rule: Object | None) -> c.Errors:
    if rule is None:
        return
    path = FieldPath("aggregationRule.clusterRoleSelectors")
    if not rule.get("clusterRoleSelectors"):
        yield required(
            path, "at least one clusterRoleSelector required if aggregationRule is non-nil"
        )
    for i, selector in enumerate(rule.get("clusterRoleSelectors") or []):
        yield from selectors.validate(selector, path.at(i))
        if selectors.problem(selector):
            yield invalid(path.at(i), None, "invalid label selector.")
