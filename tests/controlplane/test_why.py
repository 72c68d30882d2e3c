"""manage.py why: the question as a request would put it, and the answer for people and
programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from controlplane.errors import OperatorError
from controlplane.tenancy import service


@pytest.fixture(scope="module")
def tenant(postgres: str) -> Iterator[str]:
    yield service.create_tenant("why").name


def run(tenant: str, *words: str, output: str = "json") -> str:
    out = StringIO()
    call_command("why", *words, "--tenant", tenant, "-o", output, stdout=out)
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


def test_the_authorizers_of_the_settings_are_asked(
    tenant: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "RBAC,AlwaysAllow")
    assert status(tenant, "eve", "delete", "pods")["authorizer"] == "alwaysallow"


def test_a_path_has_no_name(tenant: str) -> None:
    with pytest.raises(OperatorError, match="is a path"):
        run(tenant, "eve", "get", "/version", "name")
