"""Match conditions of authorization webhooks: which questions one is asked (k8s.io/apiserver
``authorization/cel``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from admission.attributes import Lookup
from apiserver.cel.env import Env
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.policies import (
    Evaluation,
    PolicyExpression,
    RecordType,
    compile_policy,
)
from apiserver.cel.types import BOOL, STRING, Type, list_type, map_type, struct_type
from apiserver.errors import aggregate
from apiserver.meta.objects import Object

MOST: Final = 64
"""Conditions of one webhook."""
_SPEC: Final = "kubernetes.SubjectAccessReviewSpec"
_STRINGS: Final = list_type(STRING)


class ConditionsFailed(Exception):
    """It cannot be told whether the webhook is to be asked."""


def compiled(expression: str) -> PolicyExpression:
    """One condition; its error in kube-apiserver's words."""
    return compile_policy(_env(), expression, (BOOL,))


class Conditions:
    """Of one webhook, all of which must hold."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._compiled = [compiled(expression) for expression in expressions]

    @property
    def none(self) -> bool:
        return not self._compiled

    async def hold(self, spec: Object, lookup: Lookup) -> bool:
        """``spec``: of a SubjectAccessReview. Raises ConditionsFailed."""
        return await lookup.run(lambda: self._hold(_request(spec)))

    def _hold(self, request: Object) -> bool:
        errors = []
        for expression in self._compiled:
            result = Evaluation({"request": request}).evaluate(expression)
            if result.error:
                errors.append(f"cel evaluation error: {result.error}")
            elif result.value is False:
                return False
        if errors:
            raise ConditionsFailed(aggregate(errors))
        return True


def _request(spec: Object) -> Object:
    """Value of the variable ``request``: texts are there also where they are empty."""
    texts = {"user": "", "uid": "", "groups": [], "extra": {}}
    request = {**texts, **spec}
    if "resourceAttributes" in spec:
        members = _RESOURCE.keys() - {"fieldSelector", "labelSelector"}
        request["resourceAttributes"] = dict.fromkeys(members, "") | spec["resourceAttributes"]
    else:
        asked = spec["nonResourceAttributes"]
        request["nonResourceAttributes"] = {"path": "", "verb": "", **asked}
    return request


_RESOURCE: Final[dict[str, Type]] = {
    **dict.fromkeys(
        ("namespace", "verb", "group", "version", "resource", "subresource", "name"), STRING
    ),
    "fieldSelector": struct_type("kubernetes.FieldSelectorAttributes"),
    "labelSelector": struct_type("kubernetes.LabelSelectorAttributes"),
}
_SELECTOR: Final[dict[str, Type]] = {
    "rawSelector": STRING,
    "requirements": list_type(struct_type("kubernetes.SelectorRequirement")),
}


@cache
def _env() -> Env:
    records = [
        RecordType(
            _SPEC,
            {
                "resourceAttributes": struct_type("kubernetes.ResourceAttributes"),
                "nonResourceAttributes": struct_type("kubernetes.NonResourceAttributes"),
                "user": STRING,
                "groups": _STRINGS,
                "extra": map_type(STRING, _STRINGS),
                "uid": STRING,
            },
        ),
        RecordType("kubernetes.ResourceAttributes", _RESOURCE),
        RecordType("kubernetes.NonResourceAttributes", {"path": STRING, "verb": STRING}),
        RecordType("kubernetes.FieldSelectorAttributes", _SELECTOR),
        RecordType("kubernetes.LabelSelectorAttributes", _SELECTOR),
        RecordType(
            "kubernetes.SelectorRequirement",
            {"key": STRING, "operator": STRING, "values": _STRINGS},
        ),
    ]
    return BASE.extend({"request": struct_type(_SPEC)}, {r.name: r for r in records})
