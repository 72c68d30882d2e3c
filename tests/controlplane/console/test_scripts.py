"""The console's modules that need no browser, run by node: what they print is read back, and what
they find is compared with what was put in."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

LIB = Path(__file__).resolve().parents[3] / "controlplane/console/static/console/lib"
pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

TEXTS = st.one_of(
    st.sampled_from(
        ["", "yes", "null", "1e3", "0o7", "12:30", "2026-01-01", "- a", "a: b", "#", "~"]
    ),
    st.sampled_from(
        ["a\nb\n", "a\n\n", " a", "a ", "\ta", "'", '"', "{", "*a", "a #b", "a:", "-", "?"]
    ),
    st.text("ab:- #'\"\\\n\t{}[],&*!|>%@`0123456789.~\u00e9\U0001f600", max_size=12),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(-(2**31), 2**31), st.booleans(), st.none()),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=8,
)


def run(code: str, argument: Any) -> Any:
    """What the module's default export is, of the argument."""
    script = f"{code}\nprocess.stdout.write(JSON.stringify(answer(JSON.parse(process.argv[1]))));"
    text = json.dumps(argument)
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script, text], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4), min_size=40, max_size=60))
def test_what_is_printed_reads_as_what_it_was(objects: list[Any]) -> None:
    code = f"""import {{ manifest, textOf }} from "{LIB}/manifest.js";
    const answer = (all) => all.map((one) => textOf(manifest(one)));"""
    texts = run(code, objects)
    assert len(texts) == len(objects)
    for obj, text in zip(objects, texts, strict=True):
        assert yaml.safe_load(text) == obj, text


def test_it_is_printed_as_kubectl_does() -> None:
    code = f"""import {{ manifest, textOf }} from "{LIB}/manifest.js";
    const answer = (one) => textOf(manifest(one));"""
    obj = {
        "b": [{"n": "x", "l": [1, [2]]}],
        "a10": "yes",
        "a2": "",
        "e": {},
        "n": None,
        "t": "a\nb\n",
    }
    assert run(code, obj) == (
        'a2: ""\na10: "yes"\nb:\n- l:\n  - 1\n  - - 2\n  "n": x\ne: {}\n"n": null\nt: |\n  a\n  b\n'
    )


@settings(max_examples=3, deadline=None)
@given(st.lists(st.tuples(st.text("abc", max_size=9), st.text("abc", max_size=9)), min_size=50))
def test_edits_make_the_new_of_the_old(pairs: list[tuple[str, str]]) -> None:
    code = f"""import {{ edits }} from "{LIB}/diff.js";
    const answer = (all) => all.map(([a, b]) => edits([...a], [...b]));"""
    answers = run(code, pairs)
    assert len(answers) == len(pairs)
    for (old, new), found in zip(pairs, answers, strict=True):
        assert "".join(e["text"] for e in found if e["type"] != "new") == old
        assert "".join(e["text"] for e in found if e["type"] != "gone") == new


def test_blame_finds_fields_by_names_with_dots_keys_and_values() -> None:
    obj = {
        "spec": {"ports": [{"port": 80}, {"port": 81, "protocol": "UDP", "name": "]"}]},
        "metadata": {"finalizers": ["a/b", "c]"], "labels": {"a.b/c": "d"}},
    }
    fields = [
        '.spec.ports[port=81,protocol="UDP"].name',
        '.spec.ports[port=80,protocol="TCP"].port',
        '.metadata.finalizers[="c]"]',
        ".metadata.labels.a.b/c",
    ]
    paths = [
        ["spec", "ports", 1, "name"],
        ["spec", "ports", 0, "port"],
        ["metadata", "finalizers", 1],
        ["metadata", "labels", "a.b/c"],
        ["metadata", "finalizers", 0],
        ["spec"],
    ]
    code = f"""import {{ blamed }} from "{LIB}/blame.js";
    const answer = ({{ obj, fields, paths }}) => {{
      const of = blamed(obj, fields.map((path) => ({{ path }})));
      return paths.map((path) => of(path)?.path ?? null);
    }};"""
    found = run(code, {"obj": obj, "fields": fields, "paths": paths})
    assert found == [*fields, None, None]
