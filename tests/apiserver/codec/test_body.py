"""Bodies that no kind can be read from, and all such answers of the recordings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.codec import body

SCENARIOS = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "scenarios"


def test_kinds_are_read_as_written() -> None:
    assert body.decode_text(b"", is_yaml=True) == ({}, [])
    assert body.read_kind({"kind": "Pod", "apiVersion": None}) == ("", "Pod")
    with pytest.raises(
        body.BodyError, match=r"cannot unmarshal number into Go struct field \.kind of type string"
    ):
        body.decode_text(b'{"kind":5}', is_yaml=False)
    with pytest.raises(body.BodyError, match="cannot unmarshal array into Go value of type struct"):
        body.decode_text(b"[]", is_yaml=False)


def _unrecognized() -> Iterator[tuple[str, bytes, bool, str]]:
    for path in SCENARIOS.glob("*/*.yaml"):
        recorded = json.loads(path.with_suffix("").with_suffix(".recorded.json").read_text())
        answers = {
            a["id"]: a["answer"].get("body")
            for a in (recorded if isinstance(recorded, list) else recorded["steps"])
        }
        for step in yaml.load(path.read_text(), yaml.CSafeLoader)["steps"]:
            answer: Any = answers.get(step.get("id"))
            message = isinstance(answer, dict) and (answer.get("message") or answer.get("/message"))
            if (
                message
                and message.startswith("the object provided is unrecognized (must be of type ")
                and "<ns>" not in message
            ):
                sent = step.get("bodyText", json.dumps(step["body"]) if "body" in step else "")
                is_yaml = "yaml" in step.get("headers", {}).get("Content-Type", "")
                yield f"{path.stem}/{step['id']}", sent.encode(), is_yaml, message


@pytest.mark.shared
@pytest.mark.skipif(not SCENARIOS.exists(), reason="needs ../shared/conformance")
def test_recorded_answers_to_bodies_without_a_kind() -> None:
    cases = list(_unrecognized())
    assert len(cases) >= 5
    for name, data, is_yaml, message in cases:
        wanted = message.removeprefix(
            "the object provided is unrecognized (must be of type "
        ).partition(")")[0]
        with pytest.raises(body.BodyError) as e:
            body.decode_text(data, is_yaml=is_yaml)
        assert body.unrecognized(e.value, wanted, data).message == message, name
