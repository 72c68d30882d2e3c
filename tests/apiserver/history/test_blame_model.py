"""Blame against brute force: three managers write at random, and what each write did is written
down beside it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apiserver.errors import ApplyConflict
from apiserver.fieldmanager.fieldpath import path_text
from apiserver.fieldmanager.managed import decode_entries, entries_of, without_entries
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.types import object_type
from apiserver.history.blame import Blame, Snapshot
from apiserver.history.leaves import leaves
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object, copy_json
from apiserver.schema.builtin import schema_for

MANAGERS = ("ann", "bob", "cleo")
POD = GroupVersionKind("", "v1", "Pod")
TYPE = object_type(schema_for(POD))
BORN = datetime(2026, 1, 1, tzinfo=UTC)
Flat = dict[str, Any]


def by_hand(obj: Object) -> Flat:
    """The fields of the pods below, written down without types."""
    flat: Flat = {f".metadata.labels.{k}": v for k, v in obj["metadata"].get("labels", {}).items()}
    for finalizer in obj["metadata"].get("finalizers", ()):
        flat[f'.metadata.finalizers[="{finalizer}"]'] = finalizer
    for container in obj["spec"].get("containers", ()):
        at = f'.spec.containers[name="{container["name"]}"]'
        flat |= {f"{at}.{name}": value for name, value in container.items() if name != "ports"}
        for port in container.get("ports", ()):
            key = f'{at}.ports[containerPort={port["containerPort"]},protocol="{port["protocol"]}"]'
            flat |= {f"{key}.{name}": value for name, value in port.items()}
    if "hostname" in obj["spec"]:
        flat[".spec.hostname"] = obj["spec"]["hostname"]
    return flat


def body(chance: random.Random) -> Object:
    containers = []
    for name in chance.sample(["x", "y", "z"], chance.randint(1, 3)):
        container: Object = {"name": name, "image": f"{name}:{chance.randint(1, 2)}"}
        if chance.random() < 0.5:
            container["args"] = [str(chance.randint(1, 2))]
        if chance.random() < 0.5:
            ports = chance.sample([80, 81], chance.randint(1, 2))
            container["ports"] = [{"containerPort": p, "protocol": "TCP"} for p in ports]
        containers.append(container)
    metadata: Object = {"name": "p", "namespace": "n"}
    labels = {k: str(chance.randint(1, 2)) for k in "abc" if chance.random() < 0.5}
    finalizers = [f"e.org/{k}" for k in "de" if chance.random() < 0.5]
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"finalizers": finalizers} if finalizers else {}
    spec: Object = {"containers": containers}
    if chance.random() < 0.5:
        spec["hostname"] = f"h{chance.randint(1, 2)}"
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


Written = list[tuple[Object, str, str]]
"""The object after each write, by whom, and how."""


def write(chance: random.Random, count: int) -> Written:
    manager = FieldManager("Pod", lambda _: schema_for(POD), lambda obj, _: obj)
    live: Object | None = None
    done: Written = []
    while len(done) < count:
        name, how = chance.choice(MANAGERS), chance.choice(("Apply", "Update"))
        now = BORN + timedelta(seconds=len(done) // 3)
        sent = body(chance)
        known: dict[str, Any] = {"api_version": "v1", "now": now}
        if how == "Update":
            new = copy_json(sent)
            if live is not None:
                new["metadata"]["uid"] = "u"
            new = manager.update(live, new, name, **known)
        else:
            force = chance.random() < 0.7
            try:
                new = manager.apply(live, sent, name, force=force, **known)
            except ApplyConflict:
                continue
        new["metadata"]["uid"] = "u"
        new.pop("status", None)  # Go's zero value, which nobody has written
        live = new
        done.append((copy_json(new), name, how))
    return done


def owned(obj: Object, path: str) -> set[tuple[str, str]]:
    def below(node: dict[str, Any], prefix: tuple[str, ...]) -> set[str]:
        found = set()
        for element, under in node.items():
            if element != ".":
                here = (*prefix, element)
                if not under or "." in under:
                    found.add(path_text(here))
                found |= below(under, here)
        return found

    entries = obj["metadata"].get("managedFields", [])
    return {(e["manager"], e["operation"]) for e in entries if path in below(e["fieldsV1"], ())}


def expected(done: Written) -> dict[str, tuple[int, str, str, dict[tuple[str, str], int]]]:
    """From the beginning on: (version, manager, operation, owners) of each field."""
    flats = [by_hand(obj) for obj, _, _ in done]
    last = len(done) - 1
    found = {}
    for path, value in flats[last].items():
        given = last
        while given and flats[given - 1].get(path) == value:
            given -= 1
        owners = {}
        for owner in owned(done[last][0], path):
            since = last
            while since and owner in owned(done[since - 1][0], path):
                since -= 1
            owners[owner] = since + 1
        _, manager, how = done[given]
        found[path] = (given + 1, manager, how, owners)
    return found


def told(done: Written) -> dict[str, tuple[int, str, str, dict[tuple[str, str], int]]]:
    snapshots = [
        Snapshot(
            number,
            leaves(TYPE, without_entries(obj)),
            decode_entries(entries_of(obj)),
        )
        for number, (obj, _, _) in enumerate(done, 1)
    ]
    blame = Blame(snapshots[-1])
    for snapshot in reversed(snapshots[:-1]):
        blame.older(snapshot)
    blame.born()
    return {
        path_text(path): (
            line.number,
            line.manager.name if line.manager else "",
            line.manager.operation if line.manager else "",
            {(m.name, m.operation): since for m, since in line.owners.items()},
        )
        for path, line in blame.lines.items()
    }


@pytest.mark.parametrize("seed", range(150))
def test_blame_is_what_brute_force_finds(seed: int) -> None:
    chance = random.Random(seed)
    done = write(chance, chance.randint(1, 25))
    assert told(done) == expected(done)
