"""Flow-control objects whose spec is fixed: without them requests could end up nowhere (kubernetes
``apis/flowcontrol/bootstrap``)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid
from apiserver.kinds.common.internal import quote
from apiserver.meta.objects import Object

_MANDATORY = ("exempt", "catch-all")
_KINDS = {
    "flowschemas": "FlowSchema",
    "prioritylevelconfigurations": "PriorityLevelConfiguration",
}


@cache
def _specs(resource: str) -> dict[str, Any]:
    data = json.loads((files("apiserver.kinds") / "data" / "bootstrap.json").read_bytes())
    return {
        o["metadata"]["name"]: o["spec"]
        for o in data[resource]
        if o["metadata"]["name"] in _MANDATORY
    }


def mandatory_errors(resource: str, obj: Object) -> FieldErrors:
    """``resource``: flowschemas or prioritylevelconfigurations. What is exempt may still lend and
    count as it likes."""
    name, spec = obj["metadata"].get("name", ""), obj.get("spec") or {}
    mandatory_spec = _specs(resource).get(name)
    free, but = (
        ("exempt", " except the 'spec.exempt' field") if _lends(resource, name) else ("", "")
    )
    if mandatory_spec is None or _without(spec, free) == _without(mandatory_spec, free):
        return []
    text = quote(f"flowcontrol.v1.{_KINDS[resource]}Spec", spec)
    return [invalid("spec", text, f"spec of '{name}'{but} must equal the fixed value")]


def _lends(resource: str, name: str) -> bool:
    return resource == "prioritylevelconfigurations" and name == "exempt"


def _without(spec: Object, member: str) -> Object:
    return {k: v for k, v in spec.items() if k != member}
