"""Flow-control objects whose spec is fixed: without them requests could end up nowhere (kubernetes
``apis/flowcontrol/bootstrap``)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid
from apiserver.meta.objects import Object

_MANDATORY = ("exempt", "catch-all")


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
    if mandatory_spec is None or _fixed(spec) == _fixed(mandatory_spec):
        return []
    return [invalid("spec", spec, f"spec of '{name}' must equal the fixed value")]


def _fixed(spec: Object) -> Object:
    return {k: v for k, v in spec.items() if k != "exempt"}
