"""Service accounts as workloads and people use them: kubectl makes tokens, and two workers take
them from it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from kubernetes import client

from tests.support.installation import Installation, eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = [
    pytest.mark.slow,
    NEEDS_KUBECTL,
]

NUMBERS = itertools.count(1)
AGAIN = 6
"""Requests of which each worker gets some."""


@pytest.fixture
def ns(kubectl: Kubectl) -> str:
    """A namespace with the accounts robot, who may list pods, and idler, who may not."""
    name = f"sa{next(NUMBERS)}"
    kubectl("create", "ns", name)
    for account in ("robot", "idler"):
        kubectl("create", "sa", account, "-n", name)
    kubectl("create", "role", "lister", "-n", name, "--verb=list", "--resource=pods")
    kubectl(
        "create",
        "rolebinding",
        "lister",
        "-n",
        name,
        "--role=lister",
        f"--serviceaccount={name}:robot",
    )
    return name


def api(installation: Installation, token: str, tenant: str = "default") -> client.ApiClient:
    """The official Python client with the account's token, a new connection for each request."""
    made = client.Configuration(host=f"https://127.0.0.1:{installation.port}/clusters/{tenant}")
    made.ssl_ca_cert = str(installation.data / "ca.crt")
    made.api_key, made.api_key_prefix = {"authorization": token}, {"authorization": "Bearer"}
    return client.ApiClient(made)


def status(installation: Installation, token: str, ns: str, tenant: str = "default") -> int:
    with api(installation, token, tenant) as connection:
        try:
            client.CoreV1Api(connection).list_namespaced_pod(ns)
        except client.ApiException as e:
            return int(e.status)
    return 200


def statuses(*asked: Any) -> set[int]:
    return {status(*asked) for _ in range(AGAIN)}


def test_an_account_may_list_when_a_role_lets_it(
    installation: Installation, kubectl: Kubectl, ns: str
) -> None:
    robot, idler = (
        kubectl("create", "token", name, "-n", ns).strip() for name in ("robot", "idler")
    )
    assert statuses(installation, robot, ns) == {200}
    assert statuses(installation, idler, ns) == {403}
    assert statuses(installation, robot, "default") == {403}
    assert statuses(installation, robot[:-3] + "AAA", ns) == {401}
    who = kubectl("auth", "whoami", f"--token={robot}", "-o", "json")
    assert json.loads(who)["status"]["userInfo"]["username"] == f"system:serviceaccount:{ns}:robot"


def test_a_token_of_one_tenant_is_unknown_in_another(
    installation: Installation, kubectl: Kubectl, ns: str
) -> None:
    there = kubectl.at("demo")
    there("create", "ns", ns)
    there("create", "sa", "robot", "-n", ns)
    ours, theirs = (
        kubectl("create", "token", "robot", "-n", ns).strip(),
        there("create", "token", "robot", "-n", ns).strip(),
    )
    assert statuses(installation, ours, ns) == {200} and statuses(
        installation, theirs, ns, "demo"
    ) == {403}
    assert statuses(installation, ours, ns, "demo") == {401} and statuses(
        installation, theirs, ns
    ) == {401}


def test_a_token_dies_with_its_secret_and_its_account(
    installation: Installation, kubectl: Kubectl, ns: str
) -> None:
    kubectl("create", "secret", "generic", "bond", "-n", ns)
    bound = kubectl(
        "create",
        "token",
        "robot",
        "-n",
        ns,
        "--bound-object-kind=Secret",
        "--bound-object-name=bond",
    ).strip()
    plain = kubectl("create", "token", "robot", "-n", ns, "--duration=10m").strip()
    assert statuses(installation, bound, ns) == {200}
    kubectl("delete", "secret", "bond", "-n", ns)
    eventually(lambda: statuses(installation, bound, ns) == {401})
    assert statuses(installation, plain, ns) == {200}
    kubectl("delete", "sa", "robot", "-n", ns)
    assert statuses(installation, plain, ns) == {401}


def test_audiences_and_durations(installation: Installation, kubectl: Kubectl, ns: str) -> None:
    vault = kubectl("create", "token", "robot", "-n", ns, "--audience=vault").strip()
    assert statuses(installation, vault, ns) == {401}
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": vault, "audiences": ["vault"]},
    }
    code, reviewed = installation.request(
        "POST", "/apis/authentication.k8s.io/v1/tokenreviews", asked
    )
    assert code == 201 and reviewed["status"]["audiences"] == ["vault"]
    assert "may not specify a duration less than 10 minutes" in kubectl.refused(
        "create", "token", "robot", "-n", ns, "--duration=1m"
    )


def test_accounts_may_read_what_verifies_their_tokens(kubectl: Kubectl, ns: str) -> None:
    token = kubectl("create", "token", "idler", "-n", ns).strip()
    found = json.loads(
        kubectl("get", "--raw", "/.well-known/openid-configuration", f"--token={token}")
    )
    assert found["jwks_uri"].endswith("/openid/v1/jwks")
    (key,) = json.loads(kubectl("get", "--raw", "/openid/v1/jwks", f"--token={token}"))["keys"]
    assert key["alg"] == "ES256"
