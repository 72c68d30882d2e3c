"""manage.py convert: its forms, and what it says of what it cannot convert."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command

from controlplane.errors import OperatorError

OLD = """
apiVersion: extensions/v1beta1
kind: Deployment
metadata: {name: old, labels: {app: a}}
spec: {template: {metadata: {labels: {app: a}}, spec: {containers: []}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
"""


def converted(*words: str) -> tuple[str, int]:
    out, code = StringIO(), 0
    try:
        call_command("convert", *words, stdout=out, stderr=StringIO())
    except SystemExit as ended:
        code = int(ended.code or 0)
    return out.getvalue(), code


def test_manifests_are_converted_in_every_form(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(OLD)
    documents = list(yaml.safe_load_all(converted("-f", str(file))[0]))
    assert [d["apiVersion"] for d in documents] == ["apps/v1", "v1"]
    assert json.loads(converted("-f", str(file), "-o", "json")[0])["items"] == documents
    rows = converted("-f", str(file), "-o", "table")[0].splitlines()
    assert [row.split() for row in rows] == [
        ["FROM", "TO", "OBJECT"],
        ["extensions/v1beta1", "apps/v1", "Deployment", "old"],
        ["v1", "v1", "ConfigMap", "new"],
    ]


def test_what_has_to_be_converted_is_told_in_every_form(tmp_path: Path) -> None:
    assert converted("--check", str(tmp_path), "-o", "json") == ("[]\n", 0)
    assert converted("--check", str(tmp_path)) == ("no removed or deprecated API versions\n", 0)
    file = tmp_path / "old.yaml"
    file.write_text(OLD)
    text, code = converted("--check", str(tmp_path))
    assert code == 1 and text.startswith(f"{file}: extensions/v1beta1 Deployment old: ")
    assert converted("--check", str(tmp_path), "-o", "table") == (text, 1)
    for form in ("json", "yaml"):
        printed, code = converted("--check", str(tmp_path), "-o", form)
        (found,) = yaml.safe_load(printed)
        assert code == 1 and found["file"] == str(file) and found["removed"] is True
        assert text == f"{file}: {found['what']}: {found['text']}\n"


@pytest.mark.parametrize(
    ("words", "complaint", "fix"),
    [
        ("-f {0}/nope", "{0}/nope cannot be read: No such file", "name a file of YAML"),
        ("--check {0}/nope", "{0}/nope cannot be read: No such file", "a directory"),
        ("-f {0}/binary", "{0}/binary cannot be read: it is no text", "name a file of YAML"),
        ("-f {0}/old.yaml --output-version a/b/c", "a/b/c", "apps/v1"),
        ("-f {0}/bad.yaml", "Cannot convert", "correct the manifest"),
        ("", "What shall be converted?", "--check DIR"),
    ],
)
def test_what_cannot_be_converted_is_told_with_the_fix(
    tmp_path: Path, words: str, complaint: str, fix: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(OperatorError) as refused:
        converted(*words.format(tmp_path).split())
    assert complaint.format(tmp_path) in refused.value.problem
    assert fix in refused.value.fix
