"""ResourceSlice."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quote_list
from apiserver.kinds.common.scheduling import node_selector
from apiserver.kinds.registration import register
from apiserver.kinds.resource import devices as d
from apiserver.kinds.resource.slicedevices import counter_set, device, drop_disabled
from apiserver.meta.objects import Object
from apiserver.meta.times import age, format_time

_SPEC = FieldPath("spec")
_MOST_DEVICES, _MOST_ADVANCED_DEVICES, _MOST_COUNTER_SETS = 128, 64, 8
_PLACES = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
_ONE_TERM = "must have exactly one node selector term"


@register("resource.k8s.io", "ResourceSlice")
class ResourceSlice(Kind):
    returns_deleted = True
    metadata_again = False

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        _date_taints(obj, context)
        _drop_disabled(obj)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """The generation counts what was sent, with what is dropped then."""
        _date_taints(obj, context)
        super().prepare_update(obj, old, context)
        _drop_disabled(obj)

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}, None, context))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}, old.get("spec") or {}, context))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        driver = (obj.get("spec") or {}).get("driver") or ""
        if driver == driver.lower():
            return []
        name = go_quote(driver)
        why = f"driver names should be lowercase; {name} contains uppercase characters"
        return [f"spec.driver: {why}"]

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec") or {}
        return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver", "")}

    def unknown_field(self, version: str, name: str) -> str:
        kind = f"{self.group}/{version}, Kind={self.kind}"
        return f"field label not supported for {kind}: {name}"

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        pool = (spec.get("pool") or {}).get("name", "")
        return [
            metadata["name"],
            spec.get("nodeName") or "",
            spec.get("driver", ""),
            pool,
            age(metadata.get("creationTimestamp"), now),
        ]


def _drop_disabled(obj: Object) -> None:
    for value in (obj.get("spec") or {}).get("devices") or ():
        drop_disabled(value)


def _date_taints(obj: Object, context: WriteContext) -> None:
    """A taint is as old as its first appearance, unless its writer knows better."""
    for value in (obj.get("spec") or {}).get("devices") or ():
        for taint in value.get("taints") or ():
            taint["timeAdded"] = taint.get("timeAdded") or format_time(context.now)


def _errors(spec: Object, old: Object | None, context: WriteContext) -> c.Errors:
    yield from d.driver_name(spec.get("driver") or "", _SPEC.child("driver"))
    pool, path = spec.get("pool") or {}, _SPEC.child("pool")
    yield from d.pool_name(pool.get("name") or "", path.child("name"))
    if pool.get("resourceSliceCount", 0) <= 0:
        yield invalid(
            path.child("resourceSliceCount"), pool.get("resourceSliceCount", 0), c.NOT_POSITIVE
        )
    if pool.get("generation", 0) < 0:
        yield invalid(
            path.child("generation"), pool["generation"], "must be greater than or equal to zero"
        )
    if old is not None:
        yield from c.immutable(
            pool.get("name"), (old.get("pool") or {}).get("name"), path.child("name")
        )
        for member in ("driver", "nodeName"):
            yield from c.immutable(spec.get(member), old.get(member), _SPEC.child(member))
    yield from _places(spec)
    emptied = {empty.path for empty in context.empties}
    if all(
        spec.get(name) is not None or ("spec", name) in emptied
        for name in ("sharedCounters", "devices")
    ):
        yield invalid(_SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _devices(spec, old or {})


def _places(spec: Object) -> c.Errors:
    chosen, name, selector = [], spec.get("nodeName"), spec.get("nodeSelector")
    if name:
        chosen.append("`nodeName`")
        yield from c.dns_subdomain(name, _SPEC.child("nodeName"))
    elif name is not None:
        yield invalid(
            _SPEC.child("nodeName"), name, "must be either unset or set to a non-empty string"
        )
    if selector is not None:
        chosen.append("`nodeSelector`")
        at, terms = _SPEC.child("nodeSelector"), selector.get("nodeSelectorTerms")
        yield from node_selector(selector, at)
        if len(terms or ()) != 1:
            quoted = quote_list("core.v1.NodeSelectorTerm", terms)
            yield invalid(at.child("nodeSelectorTerms"), quoted, _ONE_TERM)
    for member in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(member):
            chosen.append(f"`{member}`")
        elif spec.get(member) is not None:
            yield invalid(_SPEC.child(member), False, "must be either unset or set to true")
    if not chosen:
        yield required(_SPEC, _PLACES)
    elif len(chosen) > 1:
        yield invalid(_SPEC, f"{{{', '.join(chosen)}}}", f"{_PLACES}, but multiple fields are set")


def _devices(spec: Object, old: Object) -> c.Errors:
    counters, devices = spec.get("sharedCounters"), spec.get("devices")
    advanced = any(v.get("taints") or v.get("consumesCounters") for v in devices or ())
    most, placed = (
        _MOST_ADVANCED_DEVICES if advanced else _MOST_DEVICES,
        bool(spec.get("perDeviceNodeSelection")),
    )
    stored = {v.get("name") or "": v for v in old.get("devices") or ()}

    def check(value: Object, path: FieldPath) -> c.Errors:
        return device(value, stored.get(value.get("name") or ""), path, placed=placed)

    yield from d.each_once(devices, most, check, _name_of, _SPEC.child("devices"))
    yield from d.each_once(
        counters, _MOST_COUNTER_SETS, counter_set, _name_of, _SPEC.child("sharedCounters")
    )


def _name_of(value: Object) -> str:
    return value.get("name") or ""
