"""The audit log's settings: a file that cannot be used is said at the start, with the fix."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.audit.logfile import LogFile
from apiserver.audit.policy import DEFAULT, Level
from apiserver.audit.webhook import Webhook
from apiserver.authz.attributes import Attributes
from apiserver.user import User
from controlplane import auditing
from controlplane.errors import OperatorError

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Request", "users": ["ann"]}],
}
GET = Attributes(User("ann"), "get", "", "v1", "pods")


def put(path: Path, document: Any) -> str:
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return str(path)


def kubeconfig(server: str, user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def test_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLICY_FILE", "LOG_PATH", "WEBHOOK_CONFIG_FILE", "RETENTION_DAYS"):
        monkeypatch.delenv(f"POLYPLANE_AUDIT_{name}", raising=False)
    auditing.check()
    recorder = auditing.recorder()
    assert (recorder.policy, list(recorder.sinks), recorder.reads) == (DEFAULT, [], 1.0)
    assert auditing.retention_days() == 90


def test_what_is_set_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYPLANE_AUDIT_POLICY_FILE", put(tmp_path / "policy", POLICY))
    monkeypatch.setenv("POLYPLANE_AUDIT_LOG_PATH", str(tmp_path / "log"))
    config = put(tmp_path / "config", kubeconfig("http://127.0.0.1:1/events"))
    monkeypatch.setenv("POLYPLANE_AUDIT_WEBHOOK_CONFIG_FILE", config)
    monkeypatch.setenv("POLYPLANE_AUDIT_READS_PERCENT", "25")
    auditing.check()
    recorder = auditing.recorder()
    assert recorder.verdict(GET).level is Level.REQUEST
    assert [type(sink) for sink in recorder.sinks] == [LogFile, Webhook]
    assert recorder.reads == 0.25


def test_unknown_fields_of_a_policy_are_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    document = {**POLICY, "rules": [{**POLICY["rules"][0], "user": "ann"}]}
    monkeypatch.setenv("POLYPLANE_AUDIT_POLICY_FILE", put(tmp_path / "policy", document))
    auditing.check()
    assert auditing.recorder().verdict(GET).level is Level.REQUEST
    (said,) = (r.getMessage() for r in caplog.records if r.name == "polyplane.audit")
    assert said == "POLYPLANE_AUDIT_POLICY_FILE: unknown field rules[0].user, which is left out"


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("POLICY_FILE", {**POLICY, "rules": [{"level": "Some"}]}, r"rules\[0\].level"),
        ("POLICY_FILE", "a: [", "is no YAML"),
        ("POLICY_FILE", "\0", "is no YAML"),
        ("POLICY_FILE", None, "cannot be read"),
        ("WEBHOOK_CONFIG_FILE", None, "cannot be read"),
        ("WEBHOOK_CONFIG_FILE", "[]", "cannot be used"),
        ("WEBHOOK_CONFIG_FILE", "", "cannot be used"),
        ("WEBHOOK_CONFIG_FILE", kubeconfig("ftp://a"), "must be an https or http URL"),
        ("WEBHOOK_CONFIG_FILE", {**kubeconfig("http://a"), "current-context": "y"}, 'no entry "y"'),
        (
            "WEBHOOK_CONFIG_FILE",
            kubeconfig("https://a", **{"certificate-authority": "no-such"}),
            "cannot be used",
        ),
        ("LOG_PATH", None, "cannot be written"),
        ("RETENTION_DAYS", "-", "is not a number"),
        ("READS_PERCENT", "101", "is not a number"),
    ],
)
def test_what_cannot_be_used_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, content: Any, complaint: str
) -> None:
    value = str(tmp_path / "none" / "none")
    if name in ("RETENTION_DAYS", "READS_PERCENT"):
        value = content
    elif content is not None:
        value = put(tmp_path / "file", content)
    monkeypatch.setenv(f"POLYPLANE_AUDIT_{name}", value)
    with pytest.raises(OperatorError, match=complaint):
        auditing.check()


def target(tmp_path: Path, document: dict[str, Any]) -> Any:
    return auditing._target(put(tmp_path / "config", document))


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, None),
        ({"token": "s3"}, "Bearer s3"),
        ({"username": "a", "password": "b"}, f"Basic {base64.b64encode(b'a:b').decode()}"),
    ],
)
def test_who_sends_to_the_webhook(tmp_path: Path, user: dict[str, Any], header: str | None) -> None:
    found = target(tmp_path, kubeconfig("http://a/b?c", user))
    assert found.headers().get("Authorization") == header
    assert (found.url, found.context) == ("http://a/b?c", None)


def test_a_webhook_is_verified_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    plain = target(tmp_path, kubeconfig("https://a", **{"tls-server-name": "b"}))
    assert plain.context.verify_mode is ssl.CERT_REQUIRED and plain.server_name == "b"
    loose = target(tmp_path, kubeconfig("https://a", **{"insecure-skip-tls-verify": True}))
    assert loose.context.verify_mode is ssl.CERT_NONE


def test_a_token_file_beside_the_kubeconfig_is_read_for_each_call(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("one\n")
    headers = target(tmp_path, kubeconfig("http://a", {"tokenFile": "t"})).headers
    assert headers() == {"Authorization": "Bearer one"}
    (tmp_path / "t").write_text("two")
    assert headers() == {"Authorization": "Bearer two"}
    (tmp_path / "t").unlink()
    with pytest.raises(OSError, match="t cannot be read"):
        headers()
