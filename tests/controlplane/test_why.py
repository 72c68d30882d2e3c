"""manage.py why: the question as a request would put it, and the answer for people and
programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from django.core.management import call_command

from apiserver.audit.recorder import Recorder
from apiserver.audit.replay import annotate
from apiserver.audit.trail import Trail
from apiserver.authz.attributes import Attributes, Decision
from apiserver.request import parse_request
from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_within
from apiserver.user import User, authenticated
from controlplane.errors import OperatorError
from controlplane.tenancy import service

_NOTHING = Attributes(User(""), "get")


@pytest.fixture(scope="module")
def tenant(postgres: str) -> Iterator[str]:
    yield service.create_tenant("why").name


def ended(*words: str, **streams: Any) -> int:
    """The exit code."""
    try:
        call_command("why", *words, **streams)
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    return 0


def run(tenant: str, *words: str, output: str = "json") -> str:
    out = StringIO()
    ended(*words, "--tenant", tenant, "-o", output, stdout=out)
    return out.getvalue()


def status(tenant: str, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(tenant, *words))
    return found


def test_what_everybody_may_do_is_told_with_its_rule(tenant: str) -> None:
    """Of a tenant that nobody has used yet: it has what its first request would find."""
    answer = status(tenant, "eve", "get", "/version")
    assert (answer["allowed"], answer["authorizer"]) == (True, "rbac")
    assert answer["grant"]["binding"]["name"] in ("system:discovery", "system:public-info-viewer")
    assert "/version" in answer["grant"]["rule"]["nonResourceURLs"]
    text = run(tenant, "eve", "get", "/version", output="table")
    assert text.startswith('yes: RBAC: allowed by ClusterRoleBinding "system:')
    assert text == run(tenant, "eve", "get", "/version", output="text")


def test_a_group_counts_and_so_do_those_that_come_with_the_name(tenant: str) -> None:
    assert not status(tenant, "eve", "delete", "pods")["allowed"]
    assert status(tenant, "eve", "delete", "pods", "--group", "system:masters")["allowed"]
    account = "system:serviceaccount:kube-system:x"
    found = status(tenant, account, "get", "/.well-known/openid-configuration")
    assert found["grant"]["subject"]["name"] == "system:serviceaccounts"


def test_a_no_tells_the_nearest_rules(tenant: str) -> None:
    words = ("eve", "list", "selfsubjectreviews.authentication.k8s.io")
    text = run(tenant, *words, output="text")
    assert text.startswith('no: User "eve" cannot list resource "selfsubjectreviews"')
    assert "lacks verbs: rule" in text and "ClusterRole system:basic-user" in text
    answer = yaml.safe_load(run(tenant, *words, output="yaml"))
    assert answer == status(tenant, *words)
    assert answer["nearMisses"][0]["lacking"] == ["verbs"]


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_no_is_an_exit_code(tenant: str, output: str) -> None:
    """As of `kubectl auth can-i`, for scripts."""
    form = ("--tenant", tenant, "-o", output)
    assert ended("eve", "get", "/version", *form, stdout=StringIO()) == 0
    assert ended("eve", "delete", "pods", *form, stdout=StringIO()) == 1


def test_entries_are_no_question_that_has_a_no(tenant: str, tmp_path: Path) -> None:
    file = tmp_path / "entries.json"
    file.write_text(json.dumps(_entry(tenant, "/api/v1/pods", Decision(False))))
    assert ended("--entries", str(file), stdout=StringIO()) == 0


def test_the_authorizers_of_the_settings_are_asked(
    tenant: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "RBAC,AlwaysAllow")
    assert status(tenant, "eve", "delete", "pods")["authorizer"] == "alwaysallow"


def test_a_path_has_no_name(tenant: str) -> None:
    with pytest.raises(OperatorError, match="is a path"):
        run(tenant, "eve", "get", "/version", "name")


def _entry(tenant: str, path: str, decision: Decision) -> dict[str, Any]:
    """As a server leaves it of a GET by eve."""
    eve = User("eve", groups=authenticated((), "eve"))
    info = parse_request("GET", path)
    made = Trail(Recorder().policy.verdict(_NOTHING), tenant, info, eve, audit_id=path, uri=path)
    annotate(made.annotations, decision)
    event: dict[str, Any] = json.loads(made.event("ResponseComplete", 200))
    return event


def test_entries_are_decided_again(tenant: str, tmp_path: Path) -> None:
    binding = 'ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"'
    allowed = Decision(True, f'RBAC: allowed by {binding} to Group "system:authenticated"')
    entries = [
        _entry(tenant, "/version", allowed),
        _entry(tenant, "/api/v1/nodes", allowed),
        _entry(tenant, "/api/v1/pods", Decision(False)),
        _entry(tenant, "/apis", Decision(False, error="EOF")),
        _entry("why-gone", "/apis", allowed),
    ]
    file = tmp_path / "entries.json"
    file.write_text(json.dumps(entries))
    found = json.loads(run("default", "--entries", str(file)))
    now = found[0]["decided"]
    assert now["authorization.k8s.io/decision"] == "allow"
    entries[0]["annotations"] |= now  # the rule, too
    file.write_text(json.dumps(entries))
    found = json.loads(run("default", "--entries", str(file)))
    assert [one.get("same") for one in found] == [True, False, True, None, None]
    assert found[0]["status"]["grant"]["binding"]["name"].startswith("system:")
    assert found[1]["spec"]["resourceAttributes"] == {
        "verb": "list",
        "version": "v1",
        "resource": "nodes",
    }
    text = run("default", "--entries", str(file), output="text").splitlines()
    assert text[0].startswith("/version: the same: allow, RBAC: allowed by")
    assert text[1].startswith("/api/v1/nodes: then allow, RBAC") and text[1].endswith(
        "; now forbid"
    )
    assert text[2] == "/api/v1/pods: the same: forbid"
    assert text[3] == "/apis: cannot be asked again: nobody has decided about the request"
    assert text[4].startswith("/apis: cannot be asked again: ") and "why-gone" in text[4]


@pytest.mark.parametrize("text", ["", "nothing", "{}", "[1]", "[" * 5000])
def test_what_is_no_entry_is_said(tmp_path: Path, text: str) -> None:
    file = tmp_path / "entries.json"
    file.write_text(text)
    with pytest.raises(OperatorError, match=r"cannot be read|holds no audit entries"):
        run("default", "--entries", str(file))
    with pytest.raises(OperatorError, match="cannot be read"):
        run("default", "--entries", str(tmp_path / "absent"))


def test_a_question_is_whole(tenant: str, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="Who may do what"):
        run(tenant, "eve", "get")
    with pytest.raises(OperatorError, match="says whom it is about"):
        run(tenant, "eve", "--entries", str(tmp_path))


def warned(tenant: str, *words: str) -> tuple[str, str]:
    """The answer's first word, and what is said beside it."""
    out, err = StringIO(), StringIO()
    ended(*words, "--tenant", tenant, stdout=out, stderr=err)
    return out.getvalue().partition(":")[0], err.getvalue()


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("deploymnts.apps", "Did you mean deployments.apps?"),
        ("deployments", "Did you mean deployments.apps?"),
        ("deploy", "Did you mean deployments.apps?"),
        ("nothing-like.it", "kubectl api-resources"),
    ],
)
def test_a_resource_that_nobody_serves_is_said_beside_the_answer(
    tenant: str, what: str, hint: str
) -> None:
    answer, warning = warned(tenant, "alice", "delete", what)
    assert answer == "no"
    assert f'tenant "{tenant}" serves no resource "{what}"' in warning and hint in warning
    assert len(warning.splitlines()) == 1
    answer, warning = warned(tenant, "root", "delete", what, "--group", "system:masters")
    assert answer == "yes" and hint in warning


@pytest.mark.parametrize("what", ["deployments.apps", "pods/log", "/metrics", "*.apps", "*"])
def test_what_is_served_gives_no_warning(tenant: str, what: str) -> None:
    assert warned(tenant, "alice", "get", what) == ("no", "")


def test_what_the_tenants_own_server_serves_gives_no_warning(tenant: str) -> None:
    row = service.get_tenant(tenant)
    with django_within(row.pk):
        ObjectRow.objects.create(
            tenant_id=row.pk,
            api_group="apiregistration.k8s.io",
            resource="apiservices",
            namespace="",
            name="v1.own.example.com",
            uid=uuid4(),
            resource_version=1,
            data={"spec": {"group": "own.example.com", "service": {"name": "s"}}},
            created_at=datetime.now(UTC),
            size=1,
        )
    assert warned(tenant, "alice", "get", "things.own.example.com") == ("no", "")
    assert warned(tenant, "alice", "get", "things.other.example.com")[1]


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_entries_are_said_to_be_none(
    tenant: str, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(text))
    with pytest.raises(OperatorError, match="Standard input holds no audit entries: it is empty"):
        call_command("why", "--entries", "-")
    monkeypatch.setattr("sys.stdin", StringIO("[]"))
    out, err = StringIO(), StringIO()
    call_command("why", "--entries", "-", "-o", "json", stdout=out, stderr=err)
    assert json.loads(out.getvalue()) == [] and "no entries" in err.getvalue()
