"""Objects through their kind's hooks, as the registry calls them, without admission and storage."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.base import WriteContext
from apiserver.kinds.catalog import resources
from apiserver.kinds.declarative.run import Gates, Subject, validate
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupVersion
from apiserver.schema.decode import decode

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
UID = "11111111-2222-3333-4444-555555555555"


@dataclass(slots=True)
class Made:
    obj: dict[str, Any]
    errors: FieldErrors = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[str]:
        return [str(e) for e in self.errors]


def resource_of(obj: dict[str, Any]) -> tuple[Resource, str]:
    gv = GroupVersion.parse(obj["apiVersion"])
    found = next(r for r in resources().values() if (r.group, r.kind) == (gv.group, obj["kind"]))
    return found, gv.version


def typed(obj: dict[str, Any]) -> dict[str, Any]:
    """Decoded and defaulted."""
    resource, version = resource_of(obj)
    out: dict[str, Any] = decode(resource.versions[version].schema, copy.deepcopy(obj)).value
    out.setdefault("metadata", {})
    out["kind"], out["apiVersion"] = obj["kind"], obj["apiVersion"]
    resource.hooks.default(out, version)
    return out


def with_declared(
    resource: Resource,
    version: str,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    errors: FieldErrors,
    subresource: str = "",
) -> FieldErrors:
    """What the registry does with a kind's declared rules."""
    declared = resource.hooks.declared
    if declared is None:
        return errors
    return validate(
        declared,
        Subject(resource.kind, version, resource.versions[version].schema, obj, old, subresource),
        errors,
        Gates(),
    )


def create(obj: dict[str, Any]) -> Made:
    resource, version = resource_of(obj)
    said: list[str] = []
    context = WriteContext(version, NOW, warn=said.append)
    out = typed(obj)
    if resource.namespaced:
        out["metadata"].setdefault("namespace", "ns")
    out["metadata"].update(uid=UID, creationTimestamp="2026-01-02T03:00:00Z")
    resource.hooks.prepare_create(out, context)
    errors = resource.hooks.validate(out, context) + resource.hooks.validate_create(out, context)
    errors = with_declared(resource, version, out, None, errors)
    more = [] if errors else resource.hooks.warnings(out, None, context)
    return Made(out, errors, [*said, *more])


def update(obj: dict[str, Any], old: dict[str, Any], subresource: str = "") -> Made:
    """``obj``: wanted, complete with metadata; ``old``: as stored."""
    resource, version = resource_of(obj)
    hooks, context = resource.hooks, WriteContext(version, NOW, subresource=subresource)
    out = typed(obj)
    out["metadata"]["resourceVersion"] = "1"
    before = copy.deepcopy(old)
    if subresource == "status":
        hooks.prepare_status_update(out, before, context)
        errors = hooks.validate_status_update(out, old, context)
    elif subresource:
        hooks.prepare_subresource_update(subresource, out, before, context)
        errors = hooks.validate_subresource_update(subresource, out, old, context)
    else:
        hooks.prepare_update(out, before, context)
        errors = hooks.validate(out, context) + hooks.validate_update(out, old, context)
    errors = with_declared(resource, version, out, old, errors, subresource)
    return Made(out, errors, [] if errors else hooks.warnings(out, old, context))


def cells(obj: dict[str, Any]) -> dict[str, Any]:
    """The table row of an object, by column name."""
    resource, version = resource_of(obj)
    row = resource.hooks.cells(obj, version, NOW)
    columns = resource.versions[version].columns
    assert len(row) == len(columns)
    return {c.name: value for c, value in zip(columns, row, strict=True)}


def changed(obj: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A copy with other members in spec; None removes one."""
    out = copy.deepcopy(obj)
    for name, value in spec.items():
        if value is None:
            out["spec"].pop(name, None)
        else:
            out["spec"][name] = value
    return out


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "nginx:1"}], **spec},
    }


def workload(
    kind: str,
    api_version: str = "apps/v1",
    template_spec: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A workload with the labels ``app: x`` on its template and in its selector."""
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}], **(template_spec or {})},
    }
    base = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "w"},
        "spec": {**base, **spec},
    }
