"""A store small enough to read, which answers the recorded requests that FieldManager alone
decides.

It knows create, replace, the patch types and apply of whole objects and of status, and nothing of
validation or admission. What a real server adds between the request and the store (defaults, status
of new objects) is taken from the recorded answer, so what is compared is the ownership that
FieldManager gives, and for apply the object that it makes.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from apiserver.errors import ApiError
from apiserver.fieldmanager import scale
from apiserver.fieldmanager.fieldpath import decode, difference, path_of
from apiserver.fieldmanager.names import manager_name
from apiserver.meta.objects import Object

SHARED = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "scenarios"
NS = "recorded-ns"


class _Loader(yaml.SafeLoader):
    """YAML whose timestamps stay strings, as in the tool that recorded."""


_Loader.yaml_implicit_resolvers = {
    k: [(t, r) for t, r in v if t != "tag:yaml.org,2002:timestamp"]
    for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass
class Step:
    id: str
    method: str
    path: str
    query: dict[str, str]
    content_type: str
    user_agent: str
    body: Any
    status: int
    answer: Any
    save: dict[str, str]

    @property
    def force(self) -> bool:
        return str(self.query.get("force", "0")).lower() not in ("0", "false")


def steps(name: str) -> Iterator[Step]:
    """The requests of a scenario with their recorded answers."""
    scenario = yaml.load((SHARED / f"{name}.yaml").read_text().replace("${ns}", NS), _Loader)
    recorded = {
        s["id"]: s["answer"]
        for s in json.loads(_named((SHARED / f"{name}.recorded.json").read_text()))
        if "answer" in s
    }
    for step in scenario["steps"]:
        answer = recorded.get(step.get("id")) if "path" in step else None
        if answer is None:
            continue
        headers = {k.lower(): str(v) for k, v in step.get("headers", {}).items()}
        body = step.get("body")
        if body is None and "bodyText" in step:
            body = step["bodyText"]
        _name_uids(body)
        yield Step(
            step["id"],
            step.get("method", "GET"),
            step["path"],
            step.get("query", {}),
            headers.get("content-type", "application/json"),
            headers.get("user-agent", "replay"),
            body,
            answer["status"],
            answer.get("body"),
            step.get("save", {}),
        )


def _named(recorded: str) -> str:
    """Recordings name what varies in angle brackets, which Go would escape in a path element."""
    return re.sub(r"<(uid\d+)>", r"\1", recorded).replace("<ns>", NS)


def _name_uids(body: Any) -> None:
    """Recordings replace uids; the request's owners get theirs in turn, as the recorded scenario
    has them."""
    try:
        for reference in body["metadata"]["ownerReferences"]:
            reference["uid"] = {"1": "uid3", "2": "uid4"}[reference["uid"][0]]
    except (KeyError, TypeError):
        return


_PATH = re.compile(
    r"(?P<base>/api/v1|/apis/[^/]+/[^/]+)(/namespaces/(?P<ns>[^/]+))?/(?P<resource>[^/]+)(/(?P<name>[^/]+))?(/(?P<sub>[^/]+))?$"
)


@dataclass
class Difference:
    step: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return (
            f"{self.step}\n  expected {json.dumps(self.expected)}\n  found    "
            f"{json.dumps(self.found)}"
        )


@dataclass
class Store:
    """managers: (apiVersion, resource) → FieldManager and Kind; objects by (resource, name) in the
    version last written."""

    manager_of: Callable[[str, str], Any]
    objects: dict[tuple[str, str], Object] = field(default_factory=dict)
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    saved: dict[str, Any] = field(default_factory=dict)
    unknown: set[tuple[str, str]] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)
    compared: int = 0
    exact: bool = True
    """Whether nobody may own more than recorded. Not for kinds whose fields admission or allocation
    sets after ownership is decided."""

    def run(self, step: Step) -> None:
        """Runs one request and notes how its managedFields, or its refusal, differ from the
        recorded ones."""
        match = _PATH.match(step.path)
        if match is None or not isinstance(step.answer, dict):
            return
        self.now += timedelta(seconds=1)
        step.body = self.filled(step.body)
        parts = match.groupdict()
        api_version = parts["base"].split("/", 2)[2]
        manager = self.manager_of(api_version, parts["resource"])
        if manager is None:
            return
        metadata = step.answer.get("metadata") or {}
        name = parts["name"] or metadata.get("name", "")
        key, sub = (parts["resource"], name), parts["sub"] or ""
        live = self.objects.get(key)
        if (
            step.status < 300
            and sub not in ("scale", "token")
            and ("kind" not in step.answer or not metadata.get("uid"))
        ):
            self.objects.pop(
                key, None
            )  # the recording holds only a part of the answer: from here on the object is not known
            self.unknown.add(key)
        elif step.method == "POST" and step.status == 201:
            self.unknown.discard(key)
        if key in self.unknown:
            return
        if step.method == "GET":
            if step.status == 200 and live is not None and not sub:
                self.compare(step, step.answer, live)
        elif step.method == "DELETE":
            self.deleted(step, key)
        elif sub == "scale":
            self.scaled(step, key, api_version)
        elif step.content_type.startswith("application/apply-patch"):
            self.applied(step, key, manager, api_version, sub)
        elif (
            step.status in (200, 201)
            and step.answer.get("kind", "Status") not in ("Status", "Table")
            and sub != "token"
        ):
            self.updated(step, key, manager, api_version, sub)

    def filled(self, value: Any) -> Any:
        """The request with what earlier steps saved."""
        if isinstance(value, dict):
            return {k: self.filled(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.filled(v) for v in value]
        return self.saved.get(value, value) if isinstance(value, str) else value

    def deleted(self, step: Step, key: tuple[str, str]) -> None:
        if step.status == 200 and not step.query.get("dryRun"):
            if step.answer.get("kind") == "Status":
                self.objects.pop(key, None)
            elif key in self.objects:
                entries = self.objects[key]["metadata"].get("managedFields")
                self.objects[key] = self.answer_with(step, entries)

    def who(self, step: Step) -> str:
        given = step.query.get("fieldManager", "")
        return manager_name(given[0] if isinstance(given, list) else given, step.user_agent)

    def new_object(self, step: Step, live: Object | None) -> Object:
        """The object at the time when ownership is decided: before admission, which gives pods a
        few fields of its own."""
        new = self.answer_with(step, self.requested_entries(step, live))
        if live is None and isinstance(step.body, dict):
            _restore_empty_lists(step.body, new)
        if live is None and new["kind"] == "Pod" and isinstance(step.body, dict):
            for name in (
                "preemptionPolicy",
                "priority",
                "serviceAccount",
                "serviceAccountName",
                "tolerations",
            ):
                if name not in step.body["spec"]:
                    new["spec"].pop(name, None)
        return new

    def updated(
        self, step: Step, key: tuple[str, str], manager: Any, api_version: str, sub: str
    ) -> None:
        live = self.objects.get(key)
        if live is None and (step.method == "PATCH" or sub):
            return
        new = self.new_object(step, live)
        result = manager.update(
            live, new, self.who(step), api_version=api_version, subresource=sub, now=self.now
        )
        self.store(step, key, result)

    def requested_entries(self, step: Step, live: Object | None) -> Any:
        theirs = live["metadata"].get("managedFields") if live else None
        if isinstance(step.body, list):
            for op in step.body:
                if op["path"].startswith("/metadata/managedFields"):
                    return op["value"]
            return theirs
        metadata = (step.body.get("metadata") if isinstance(step.body, dict) else None) or {}
        if step.method == "PATCH":
            return metadata.get("managedFields", theirs)
        return metadata.get("managedFields")

    def applied(
        self, step: Step, key: tuple[str, str], manager: Any, api_version: str, sub: str
    ) -> None:
        live = self.objects.get(key)
        intent = yaml.load(step.body, _Loader) if isinstance(step.body, str) else step.body
        if not isinstance(intent, dict):
            return
        force = step.force
        try:
            result = manager.apply(
                live,
                intent,
                self.who(step),
                force=force,
                api_version=api_version,
                subresource=sub,
                now=self.now,
            )
        except ApiError as error:
            found = error.to_status()
            self.compared += 1
            expected = {k: step.answer.get(k) for k in ("code", "message", "reason")}
            if expected != {k: found.get(k) for k in expected} or _causes(step.answer) != _causes(
                found
            ):
                self.differences.append(Difference(step.id, step.answer, found))
            return
        if step.status in (200, 201):
            self.merged(step, result, sub)
            self.store(step, key, result)
        elif "Apply failed" in step.answer.get("message", "") or "typed patch" in step.answer.get(
            "message", ""
        ):
            self.differences.append(Difference(step.id, step.answer, "applied"))

    def merged(self, step: Step, result: Object, sub: str) -> None:
        """What apply made must be in the answer; defaults and what the server sets may be there
        besides, and through a subresource only that part is stored."""
        if step.answer["kind"] == "Pod":  # admission adds tolerations
            return
        part = (
            {sub: result.get(sub)}
            if sub
            else {k: v for k, v in result.items() if k not in ("metadata", "status", "stringData")}
        )
        missing = list(_missing(part, step.answer, ""))
        for name in ("labels", "annotations"):
            missing += _missing(
                {name: result["metadata"].get(name) or {}},
                {name: step.answer["metadata"].get(name) or {}},
                ".metadata",
            )
        if missing and not (sub and missing[0][0].startswith(".metadata")):
            self.differences.append(Difference(f"{step.id} (object)", missing, None))

    def scaled(self, step: Step, key: tuple[str, str], api_version: str) -> None:
        live = self.objects.get(key)
        if live is None:
            return
        paths = {api_version: path_of("spec", "replicas")}
        if "uid" not in live["metadata"] or "replicas" not in live["spec"]:
            return
        metadata = live["metadata"]
        before = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": key[1],
                "uid": metadata["uid"],
                "managedFields": scale.to_scale(metadata.get("managedFields"), paths),
            },
            "spec": {"replicas": live["spec"].get("replicas", 0)},
            "status": {"replicas": 0},
        }
        manager = self.manager_of("autoscaling/v1", "scale")
        options = {"api_version": "autoscaling/v1", "subresource": "scale", "now": self.now}
        if step.content_type.startswith("application/apply-patch"):
            try:
                after = manager.apply(
                    before, step.body, self.who(step), force=step.force, **options
                )
            except ApiError as error:
                self.compared += 1
                if error.to_status().get("message") != step.answer.get("message"):
                    self.differences.append(Difference(step.id, step.answer, error.to_status()))
                return
            if step.status != 200:
                return
        elif step.status == 200:
            after = {
                **before,
                "spec": {"replicas": step.answer.get("spec", before["spec"])["replicas"]},
            }
            after = manager.update(before, after, self.who(step), **options)
        else:
            return
        entries = scale.to_parent(
            metadata.get("managedFields"),
            after["metadata"].get("managedFields"),
            api_version,
            paths,
        )
        live = copy.deepcopy(live)
        live["metadata"]["managedFields"] = entries
        live["spec"]["replicas"] = after["spec"]["replicas"]
        self.objects[key] = live

    def answer_with(self, step: Step, entries: Any) -> Object:
        new: Object = copy.deepcopy(step.answer)
        new["metadata"].pop("managedFields", None)
        if entries is not None:
            new["metadata"]["managedFields"] = entries
        return new

    def store(self, step: Step, key: tuple[str, str], result: Object) -> None:
        self.compare(step, step.answer, result)
        if not step.query.get("dryRun"):
            self.objects[key] = self.answer_with(step, result["metadata"].get("managedFields"))
        for name, pointer in step.save.items():
            if pointer == "/metadata/managedFields":
                self.saved[f"${{{name}}}"] = result["metadata"].get("managedFields")

    def compare(self, step: Step, expected: Object, found: Object) -> None:
        theirs, ours = _entries(expected), _entries(found)
        if not self.exact:
            if not theirs:
                return  # the scenario leaves managedFields out of the comparison
            ours = [e for e in ours if not any(_within(t, e) for t in theirs)]
            theirs = [t for t in theirs if not any(_within(t, e) for e in _entries(found))]
            ours = ours if theirs else []
        self.compared += 1
        if theirs != ours:
            self.differences.append(Difference(step.id, theirs, ours))


def _within(part: Object, entry: Object) -> bool:
    """Whether an entry is another's with no more fields."""
    sets = decode(part["fieldsV1"]), decode(entry["fieldsV1"])
    return {**part, "fieldsV1": {}} == {**entry, "fieldsV1": {}} and not difference(*sets)


def _restore_empty_lists(request: Object, answer: Object) -> None:
    """Storing an empty list makes null of it, after its owner was noted."""
    for name, value in request.items():
        if value == [] and name in answer:
            answer[name] = []
        elif isinstance(value, dict) and isinstance(answer.get(name), dict):
            _restore_empty_lists(value, answer[name])


def _entries(obj: Object) -> list[Any]:
    """Entries whose time only says whether there is one, in an order that does not depend on it."""
    entries = [
        {**e, "time": "<time>"} if e.get("time") else e
        for e in obj["metadata"].get("managedFields") or []
    ]
    return sorted(entries, key=lambda e: json.dumps(e, sort_keys=True))


def _causes(status: Object) -> list[Any]:
    causes = (status.get("details") or {}).get("causes") or []
    return sorted(causes, key=lambda c: json.dumps(c, sort_keys=True))


def _missing(part: Any, whole: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(part, dict) and isinstance(whole, dict):
        for name, value in part.items():
            if name not in whole:
                if value not in (None, {}, []):
                    yield f"{path}.{name}", value, "absent"
            else:
                yield from _missing(value, whole[name], f"{path}.{name}")
    elif isinstance(part, list) and isinstance(whole, list) and len(part) == len(whole):
        for i, (a, b) in enumerate(zip(part, whole, strict=True)):
            yield from _missing(a, b, f"{path}[{i}]")
    elif part != whole and str(part) != str(whole):
        yield path, part, whole
