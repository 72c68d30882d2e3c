"""Decoding against what a real kube-apiserver answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.schema.builtin import raw_definitions, schema_for
from apiserver.schema.decode import DecodeError, decode
from apiserver.schema.stored import null_empty_lists
from apiserver.schema.types import Schema

pytestmark = pytest.mark.shared

# What the server sets whatever the client sent, by the last names of the path.
SERVER_SET = {
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
    "resourceVersion",
    "uid",
    "stringData",
    "status",
}
# Scenarios in which another value than the sent one is the point of the step.
CHANGED = {
    (
        "create-errors: cluster-kind-with-namespace-in-body",
        "/metadata/namespace",
    ): "a cluster-scoped object loses its namespace",
    ("node-namespace: node-defaults", "/spec/taints"): "admission taints new nodes",
    ("secret: opaque-default", "/data/a"): "stringData wins over data",
    ("self-access-reviews: ssrr", "/spec/namespace"): "the answer to a rules review has no spec",
}


class Exchange(NamedTuple):
    name: str
    schema: Schema
    sent: dict[str, Any]
    status: int
    answer: dict[str, Any]
    warnings: str


class _Loader(yaml.SafeLoader):
    """Times stay strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def exchanges(conformance: Path) -> Iterator[Exchange]:
    """Every POST and PUT whose JSON body has a built-in kind and whose answer is a JSON object.
    Steps that send values saved from earlier answers are left out: the recordings do not hold those
    values."""
    for scenario in sorted(conformance.glob("scenarios/*/*.yaml")):
        recorded = json.loads(scenario.with_suffix(".recorded.json").read_text())
        answers = {entry["id"]: entry.get("answer") for entry in recorded}
        for step in yaml.load(scenario.read_text().replace("${ns}", "<ns>"), _Loader)["steps"]:
            answer = answers.get(step.get("id"))
            sent = _sent(step)
            if sent is None or not answer or not isinstance(answer.get("body"), dict):
                continue
            schema = _schema(sent)
            if schema is not None:
                name = f"{scenario.stem}: {step['id']}"
                yield Exchange(
                    name,
                    schema,
                    sent,
                    answer["status"],
                    answer["body"],
                    answer["headers"].get("warning", ""),
                )


def _sent(step: dict[str, Any]) -> dict[str, Any] | None:
    if step.get("method") not in ("POST", "PUT"):
        return None
    body = step.get("body")
    if body is None:
        try:
            body = json.loads(step.get("bodyText", ""))
        except ValueError:
            return None
    return body if isinstance(body, dict) and "${" not in json.dumps(body) else None


def _schema(sent: dict[str, Any]) -> Schema | None:
    try:
        group, version = GroupVersion.parse(sent["apiVersion"])
        return schema_for(GroupVersionKind(group, version, sent["kind"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def is_zero(value: Any) -> bool:
    return (
        value in (None, 0, "", "0", "0s")
        or not value
        or (isinstance(value, dict) and all(map(is_zero, value.values())))
    )


def differences(decoded: Any, answer: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where a decoded value is not the one in the answer; zero values may have been replaced by
    defaults."""
    if isinstance(decoded, dict) and isinstance(answer, dict):
        for name, value in decoded.items():
            if name in SERVER_SET:
                continue
            if name in answer:
                yield from differences(value, answer[name], f"{path}/{name}")
            else:
                yield f"{path}/{name}", value, "absent"
    elif isinstance(decoded, list) and isinstance(answer, list) and len(decoded) == len(answer):
        for i, (value, other) in enumerate(zip(decoded, answer, strict=True)):
            yield from differences(value, other, f"{path}/{i}")
    elif (
        decoded != answer
        and not is_zero(decoded)
        and not (isinstance(answer, str) and "<" in answer)
    ):
        yield path, decoded, answer


def invented(decoded: Any, answer: Any, path: str = "") -> Iterator[str]:
    """Where the answer shows null and decoding does not."""
    if isinstance(decoded, dict) and isinstance(answer, dict):
        for name, value in answer.items():
            if name in SERVER_SET:
                continue
            if value is None and decoded.get(name, "absent") is not None:
                yield f"{path}/{name}"
            yield from invented(decoded.get(name), value, f"{path}/{name}")
    elif isinstance(decoded, list) and isinstance(answer, list):
        for i, (value, other) in enumerate(zip(decoded, answer, strict=False)):
            yield from invented(value, other, f"{path}/{i}")


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Exchange]:
    return list(exchanges(shared / "conformance"))


def test_what_was_accepted_is_in_the_answer(recorded: list[Exchange]) -> None:
    seen, wrong = Counter[str](), []
    for exchange in recorded:
        if not 200 <= exchange.status < 300 or exchange.answer.get("kind") != exchange.sent["kind"]:
            continue
        seen[exchange.sent["kind"]] += 1
        value = decode(exchange.schema, exchange.sent).value
        null_empty_lists(exchange.schema, value)
        wrong += [
            (exchange.name, *difference)
            for difference in differences(value, exchange.answer)
            if (exchange.name, difference[0]) not in CHANGED
        ]
        wrong += [
            (exchange.name, path, "no null in", value) for path in invented(value, exchange.answer)
        ]
    assert wrong == []
    assert len(seen) > 40 and seen.total() > 300


def test_unknown_fields_are_the_warnings(recorded: list[Exchange]) -> None:
    seen = 0
    for exchange in recorded:
        if not 200 <= exchange.status < 300:
            continue
        for fault in decode(exchange.schema, exchange.sent).strict:
            if exchange.warnings:
                assert json.dumps(fault)[1:-1] in exchange.warnings, exchange.name
                seen += 1
    assert seen > 10


def test_what_was_refused_is_refused_in_the_same_words(recorded: list[Exchange]) -> None:
    seen, wrong = 0, []
    for exchange in recorded:
        message = str(exchange.answer.get("message"))
        by_decoder = (
            "cannot be handled as" in message
            and "unknown conversion" not in message
            and "duplicate field" not in message
        )
        if exchange.status != 400 or not by_decoder:
            continue
        seen += 1
        try:
            said = (
                f"strict decoding error: {', '.join(decode(exchange.schema, exchange.sent).strict)}"
            )
        except DecodeError as e:
            said = str(e)
        expected = message.partition(f" cannot be handled as a {exchange.sent['kind']}: ")[2]
        if (
            said.replace("2006-01-02T15:04:05Z", "<time>").replace(
                "2006-01-02T15:04:05.000000Z", "<time>"
            )
            != expected
        ):
            wrong.append((exchange.name, said, expected))
    assert wrong == []
    assert seen > 15


def without_descriptions(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            k: without_descriptions(v)
            for k, v in node.items()
            if k != "description" or not isinstance(v, str)
        }
    return [without_descriptions(v) for v in node] if isinstance(node, list) else node


def test_definitions_are_the_published_ones(shared: Path) -> None:
    seen = 0
    for entry in json.loads(
        (shared / "conformance/scenarios/surface/openapi-v2.recorded.json").read_text()
    ):
        for pointer, published in (entry["answer"].get("body") or {}).items():
            if not pointer.startswith("/definitions/io.k8s."):
                continue
            name, *path = pointer.split("/")[2:]
            found: Any = raw_definitions()[name]
            for step in path:
                found = found[step]
            assert without_descriptions(found) == without_descriptions(published), pointer
            seen += 1
    assert seen > 5
