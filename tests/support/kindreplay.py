"""Replays the recorded scenarios through the kinds alone: decode → default → prepare → validate →
warnings, with a dictionary as storage.

Admission is played by a few lines here (what ServiceAccount, Priority, DefaultTolerationSeconds and
TaintNodesByCondition add), metadata is left to the registry's tests. A step that needs more than
that (other subresources, refusals by admission or authorization) is passed over. Run as a program
it prints, for each kind, how many steps agree, and every difference.
"""

from __future__ import annotations

import copy
import json
import re
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from apiserver.errors import ApiError
from apiserver.kinds.base import WriteContext
from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from apiserver.patch.jsonpatch import apply_json_patch
from apiserver.patch.merge import apply_merge_patch
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.schema.decode import decode
from apiserver.schema.stored import null_empty_lists
from tests.support.kindcompare import NOW, NS, Result, Target, compare
from tests.support.kindtools import with_declared

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ADMITTED = re.compile(r"apply/(vap|map|webhook)-|surface/(quota|limitrange)-enforcement")


@dataclass(slots=True)
class Outcome:
    """One step: whom it is about and what differs from the recording (empty: nothing)."""

    scenario: str
    step: str
    kind: str
    differences: list[str]

    @property
    def id(self) -> str:
        return f"{self.scenario}/{self.step}"


def scenarios(shared: Path) -> list[Path]:
    return sorted((shared / "conformance" / "scenarios").glob("*/*.yaml"))


def replay(path: Path) -> Iterator[Outcome]:
    """The outcomes of the steps of one scenario that kinds alone can answer."""
    recorded = {
        s["id"]: s["answer"]
        for s in json.loads(path.with_suffix("").with_suffix(".recorded.json").read_text())
        if "answer" in s
    }
    text = path.read_text()
    if len(text) > 2_000_000 or _ADMITTED.search(str(path)):
        return
    scenario = yaml.load(text, _LOADER)
    world = _World()
    for number, raw in enumerate(scenario["steps"]):
        step = _substitute(raw)
        sid = step.get("id", str(number))
        answer = recorded.get(sid)
        target = _target(step.get("path", "") or "")
        if answer is None or target is None or "status" not in answer:
            continue
        if target.subresource not in ("", "status"):
            world.forget(target)
            continue
        outcome = world.play(step, target, answer)
        if outcome is not None:
            yield Outcome(f"{path.parent.name}/{path.stem}", sid, target.resource.kind, outcome)


def _substitute(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("${ns}", NS)
    if isinstance(value, list):
        return [_substitute(v) for v in value]
    if isinstance(value, dict):
        return {_substitute(k): _substitute(v) for k, v in value.items()}
    return value


def _target(path: str) -> Target | None:
    parts = path.strip("/").split("/")
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource = resources().get(GroupResource(group, rest[0]))
    if (
        resource is None
        or version not in resource.versions
        or "get" not in resource.versions[version].verbs
    ):
        return None
    return Target(
        resource,
        version,
        namespace,
        rest[1] if len(rest) > 1 else "",
        rest[2] if len(rest) > 2 else "",
    )


class _World:
    """Objects by (storage, namespace, name), each in the version in which it was written last."""

    def __init__(self) -> None:
        self.objects: dict[tuple[GroupResource, str, str], dict[str, Any]] = {}

    def play(
        self, step: Mapping[str, Any], target: Target, answer: Mapping[str, Any]
    ) -> list[str] | None:
        status, method = answer["status"], step.get("method", "GET")
        dry_run = "dryRun" in (step.get("query") or {})
        if method == "DELETE" and target.name:
            self.objects.pop(self._key(target, target.name), None)
            return None
        if method == "GET" and target.name and not target.subresource and status == 200:
            return self._get(step, target, answer)
        if method not in ("POST", "PUT", "PATCH") or status not in (200, 201, 422):
            return None
        try:
            result = self._write(step, target, method, status)
        except (_Unplayable, ApiError):
            self.forget(target)
            return None
        if not result.errors and not dry_run and status != 422:
            self.objects[self._key(target, result.obj["metadata"].get("name", ""))] = result.obj
        return compare(result, target, step, answer)

    def forget(self, target: Target) -> None:
        """A write that is not played here has changed the object, perhaps."""
        self.objects.pop(self._key(target, target.name), None)

    def _key(self, target: Target, name: str) -> tuple[GroupResource, str, str]:
        return target.resource.storage, target.namespace, name

    def _live(self, target: Target, name: str) -> dict[str, Any] | None:
        stored = self.objects.get(self._key(target, name))
        if stored is None:
            return None
        wanted = target.resource.gvk(target.version).api_version
        obj = copy.deepcopy(stored)
        return (
            obj
            if obj["apiVersion"] == wanted
            else target.resource.hooks.convert(obj, target.version)
        )

    def _get(
        self, step: Mapping[str, Any], target: Target, answer: Mapping[str, Any]
    ) -> list[str] | None:
        live = self._live(target, target.name)
        if live is None or (step.get("headers") or {}).get("Accept"):
            return None
        return compare(Result(live, []), target, step, answer)

    def _write(self, step: Mapping[str, Any], target: Target, method: str, status: int) -> Result:
        body = step.get("body")
        if "${" in json.dumps([body, step.get("bodyText")]):
            raise _Unplayable
        media = (step.get("headers") or {}).get("Content-Type", "application/json")
        live = self._live(target, target.name) if target.name else None
        if method == "PATCH":
            if live is None or "apply" in media:
                raise _Unplayable
            body = _patched(live, step, media, target)
        elif not isinstance(body, dict):
            raise _Unplayable
        if (
            method == "PUT"
            and live is None
            and (status == 200 or not target.resource.hooks.allow_create_on_update)
        ):
            raise _Unplayable
        obj = _decoded(target, body)
        if (
            step.get("as")
            or step.get("token")
            or any("Impersonate" in name for name in step.get("headers") or {})
        ):
            raise _Unplayable
        user = {
            "user": "admin",
            "user_uid": "admin-uid",
            "groups": ("system:masters", "system:authenticated"),
        }
        context = WriteContext(
            version=target.version, now=NOW, subresource=target.subresource, **user
        )
        return (
            _created(target, obj, context) if live is None else _updated(target, obj, live, context)
        )


class _Unplayable(Exception):
    """The step needs something that this replay does not have."""


def _patched(live: dict[str, Any], step: Mapping[str, Any], media: str, target: Target) -> Any:
    try:
        patch = step["body"] if "body" in step else json.loads(step["bodyText"])
    except ValueError:
        raise _Unplayable from None
    if "strategic" in media:
        return apply_strategic_patch(
            copy.deepcopy(live), patch, target.resource.versions[target.version].schema
        )[0]
    if "json-patch" in media:
        return apply_json_patch(live, patch)
    return apply_merge_patch(live, patch)


def _decoded(target: Target, body: Any) -> dict[str, Any]:
    served = target.resource.versions[target.version]
    try:
        obj: dict[str, Any] = decode(served.schema, copy.deepcopy(body)).value
        null_empty_lists(served.schema, obj)
    except ValueError as e:
        raise _Unplayable from e
    obj.setdefault("metadata", {})
    obj["kind"], obj["apiVersion"] = (
        target.resource.kind,
        target.resource.gvk(target.version).api_version,
    )
    target.resource.hooks.default(obj, target.version)
    return obj


def _created(target: Target, obj: dict[str, Any], context: WriteContext) -> Result:
    hooks, metadata = target.resource.hooks, obj["metadata"]
    if target.namespace:
        metadata["namespace"] = target.namespace
    metadata.setdefault(
        "name", metadata.get("generateName", "") + "abcde" if metadata.get("generateName") else ""
    )
    metadata.update(
        uid=str(uuid.uuid5(uuid.NAMESPACE_OID, metadata["name"])),
        creationTimestamp="2026-01-02T03:04:05Z",
    )
    _admit(target.resource.kind, obj)
    said: list[str] = []
    hooks.prepare_create(obj, replace(context, warn=said.append))
    errors = hooks.validate(obj, context) + hooks.validate_create(obj, context)
    errors = with_declared(target.resource, target.version, obj, None, errors)
    warnings = [*said, *([] if errors else hooks.warnings(obj, None, context))]
    hooks.canonicalize(obj)
    return Result(obj, errors, warnings)


def _updated(
    target: Target, obj: dict[str, Any], live: dict[str, Any], context: WriteContext
) -> Result:
    hooks, metadata = target.resource.hooks, obj["metadata"]
    for name in ("uid", "creationTimestamp", "namespace", "generation"):
        metadata.pop(name, None)
        if name in live["metadata"]:
            metadata[name] = live["metadata"][name]
    metadata["resourceVersion"] = "1"
    old = copy.deepcopy(live)
    _admit(target.resource.kind, obj, update=True)
    if target.subresource == "status":
        hooks.prepare_status_update(obj, old, context)
        errors = hooks.validate_status_update(obj, live, context)
    else:
        hooks.prepare_update(obj, old, context)
        errors = hooks.validate(obj, context) + hooks.validate_update(obj, live, context)
    errors = with_declared(target.resource, target.version, obj, live, errors, target.subresource)
    warnings = [] if errors else hooks.warnings(obj, live, context)
    hooks.canonicalize(obj)
    return Result(obj, errors, warnings)


def _admit(kind: str, obj: dict[str, Any], *, update: bool = False) -> None:
    """What mutating admission adds to pods and nodes."""
    if kind == "Node" and not update:
        obj["spec"]["taints"] = [
            *(obj["spec"].get("taints") or ()),
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        ]
    if kind != "Pod" or update:
        return
    spec = obj["spec"]
    account = spec.get("serviceAccountName") or "default"
    spec.update(serviceAccountName=account, serviceAccount=account)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        added = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), added]


def main(shared: Path, wanted: set[str]) -> None:
    equal: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for path in scenarios(shared):
        for outcome in replay(path):
            if wanted and outcome.kind not in wanted:
                continue
            total[outcome.kind] += 1
            equal[outcome.kind] += not outcome.differences
            for difference in outcome.differences:
                print(f"{outcome.kind} {outcome.id}: {difference[:600]}")
    for kind in sorted(total):
        print(f"{kind}: {equal[kind]} of {total[kind]} equal")
    print(f"all: {equal.total()} of {total.total()} equal")


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[3] / "shared", set(sys.argv[1:]))
