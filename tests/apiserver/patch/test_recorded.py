"""Recorded PATCH requests, replayed on values alone: what they give must be part of what the server
answered (which adds defaults)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.codec import patches
from apiserver.errors import ApiError
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.patch.jsonpatch import apply_json_patch
from apiserver.patch.merge import apply_merge_patch
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.schema.builtin import schema_for

SCENARIOS = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "scenarios"
ABSENT = "<absent>"
MISSING = object()


def pointer(doc: Any, path: str) -> Any:
    for part in [p.replace("~1", "/").replace("~0", "~") for p in path.split("/")[1:]]:
        try:
            doc = doc[int(part)] if isinstance(doc, list) else doc[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return MISSING
    return doc


def patched(doc: dict[str, Any], kind: str, body: bytes) -> Any:
    if kind.startswith("application/json-patch"):
        return apply_json_patch(doc, patches.decode_json_patch(body)[0])
    if kind.startswith("application/merge-patch"):
        return apply_merge_patch(doc, patches.decode_merge_patch(body)[0])
    gvk = GroupVersionKind(*GroupVersion.parse(doc["apiVersion"]), doc["kind"])
    return apply_strategic_patch(doc, patches.decode_strategic_patch(body)[0], schema_for(gvk))[0]


def steps(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    recorded = json.loads((SCENARIOS / f"{name}.recorded.json").read_text())
    answers = {
        a["id"]: a["answer"]
        for a in (recorded if isinstance(recorded, list) else recorded["steps"])
    }
    for step in yaml.load((SCENARIOS / f"{name}.yaml").read_text(), yaml.CSafeLoader)["steps"]:
        if isinstance(answers.get(step.get("id")), dict):
            yield step, answers[step["id"]]


def is_part(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, dict):
        return isinstance(theirs, dict) and all(
            k in theirs and is_part(v, theirs[k]) for k, v in mine.items() if v not in ({}, [])
        )
    if isinstance(mine, list):
        return (
            isinstance(theirs, list)
            and len(mine) == len(theirs)
            and all(map(is_part, mine, theirs))
        )
    return bool(mine == theirs)


def settled(doc: Any) -> dict[str, Any]:
    """Without what every write changes."""
    metadata = {
        k: v
        for k, v in doc["metadata"].items()
        if k not in ("managedFields", "resourceVersion", "generation")
    }
    return {**doc, "metadata": metadata}


NAMES = [
    "objects/patch-strategic",
    "objects/patch-merge",
    "objects/patch-limits",
    "surface/doc-patches",
    "objects/patch-custom",
]


@pytest.mark.shared
@pytest.mark.skipif(not SCENARIOS.exists(), reason="needs ../shared/conformance")
@pytest.mark.parametrize("name", NAMES)
def test_results_agree_with_the_recording(name: str) -> None:
    state: dict[str, dict[str, Any]] = {}
    checked = 0
    for step, answer in steps(name):
        body, path = answer.get("body") or {}, step.get("path", "")
        if step.get("method") == "POST":
            path = f"{path}/{(step.get('body') or {}).get('metadata', {}).get('name')}"
        if (
            step.get("method") == "PATCH"
            and answer["status"] == 200
            and path in state
            and "apply" not in step["headers"]["Content-Type"]
        ):
            sent = (
                step["bodyText"].encode()
                if "bodyText" in step
                else json.dumps(step["body"]).encode()
            )
            if (
                b"${" in sent
                or b"managedFields" in sent
                or b"status" in sent
                or b"creationTimestamp" in sent
            ):
                continue
            made = patched(state[path], step["headers"]["Content-Type"], sent)
            checked += 1
            for place, value in (body if "only" in step else {"": settled(body)}).items():
                mine = pointer(settled(made), place) if place else settled(made)
                if value == ABSENT:
                    assert mine in (MISSING, {}, []), (step["id"], place)
                elif mine is not MISSING:
                    assert is_part(mine, value), (step["id"], place, mine, value)
            state[path] = made
        elif isinstance(body, dict) and "kind" in body and body["kind"] != "Status":
            state[path] = body
    assert checked >= 2


@pytest.mark.shared
@pytest.mark.skipif(not SCENARIOS.exists(), reason="needs ../shared/conformance")
def test_malformed_patches_get_the_recorded_answers() -> None:
    decode = {
        "application/merge-patch+json": patches.decode_merge_patch,
        "application/strategic-merge-patch+json": patches.decode_strategic_patch,
    }
    checked = 0
    for step, answer in steps("objects/patch-limits"):
        kind = (step.get("headers") or {}).get("Content-Type")
        if kind in decode and answer["status"] == 400:
            with pytest.raises(ApiError) as e:
                decode[kind](step["bodyText"].encode())
            assert e.value.to_status()["message"] == answer["body"]["message"], step["id"]
            checked += 1
    assert checked >= 6
