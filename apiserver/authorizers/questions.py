"""A question as a SubjectAccessReview has it, for whoever is not asked in this process.

Source: k8s.io/apiserver ``plugin/pkg/authorizer/webhook``. Selectors only narrow a question, so
what of them has no form here is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.authz.attributes import Attributes
from apiserver.meta.fields import FieldRequirement
from apiserver.meta.labels import Requirement
from apiserver.meta.objects import Object
from apiserver.request import TENANT_KEY

"""The extra by which the tenant is named; who asks has no say in it."""
_OPERATORS = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}


def spec_of(tenant: str, attributes: Attributes) -> Object:
    """A SubjectAccessReviewSpec of authorization.k8s.io/v1. ``tenant``: its name."""
    user = attributes.user
    extra = {**{key: list(values) for key, values in user.extra.items()}, TENANT_KEY: [tenant]}
    spec: Object = {}
    if attributes.is_resource:
        spec["resourceAttributes"] = _resource(attributes)
    else:
        spec["nonResourceAttributes"] = _filled(path=attributes.path, verb=attributes.verb)
    return spec | _filled(user=user.name, groups=list(user.groups), extra=extra, uid=user.uid)


def as_v1beta1(spec: Object) -> Object:
    """The same in the older version, which calls the groups ``group``."""
    return {"group" if name == "groups" else name: value for name, value in spec.items()}


def _resource(attributes: Attributes) -> Object:
    asked = _filled(
        namespace=attributes.namespace,
        verb=attributes.verb,
        group=attributes.group,
        version=attributes.version,
        resource=attributes.resource,
        subresource=attributes.subresource,
        name=attributes.name,
    )
    for member, requirements in (
        ("fieldSelector", _by_field(attributes.field_requirements)),
        ("labelSelector", _by_label(attributes.label_requirements)),
    ):
        if requirements:
            asked[member] = {"requirements": requirements}
    return asked


def _by_field(requirements: Sequence[FieldRequirement]) -> list[Object]:
    return [
        {"key": r.field, "operator": "In" if r.operator == "=" else "NotIn", "values": [r.value]}
        for r in requirements
    ]


def _by_label(requirements: Sequence[Requirement]) -> list[Object]:
    return [
        {"key": r.key, "operator": _OPERATORS[r.operator]}
        | ({"values": list(r.values)} if r.values else {})
        for r in requirements
        if r.operator in _OPERATORS
    ]


def _filled(**members: Any) -> Object:
    return {name: value for name, value in members.items() if value}
