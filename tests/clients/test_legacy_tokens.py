"""Token secrets of service accounts, against two workers: filled, good in one tenant, dead with
their secret."""

from __future__ import annotations

import base64
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import Installation, eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = [
    pytest.mark.slow,
    NEEDS_KUBECTL,
]
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def who(installation: Installation, token: str, prefix: str = "") -> Any:
    """The name, or the status of a refusal."""
    connection = installation.connect()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    try:
        connection.request("POST", prefix + WHO, json.dumps(review), headers)
        answer: http.client.HTTPResponse = connection.getresponse()
        text = answer.read()
        if answer.status != 201:
            return answer.status
        return json.loads(text)["status"]["userInfo"]["username"]
    finally:
        connection.close()


def peeks(installation: Installation, token: str, prefix: str) -> int:
    connection = installation.connect()
    try:
        path = f"{prefix}/api/v1/namespaces/kube-system/secrets"
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return int(connection.getresponse().status)
    finally:
        connection.close()


def test_from_the_secret_to_its_end(installation: Installation, tmp_path: Path) -> None:
    demo = Kubectl(installation.data / "admin.kubeconfig", tmp_path, "demo")
    demo("create", "serviceaccount", "robot")
    metadata = {"name": "t", "annotations": {"kubernetes.io/service-account.name": "robot"}}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
    demo("apply", "-f", "-", stdin={**kind, "metadata": metadata})
    demo("wait", "secret/t", "--for=jsonpath={.data.token}", "--timeout=240s")
    secret = demo.get("secret", "t")
    token = base64.b64decode(secret["data"]["token"]).decode()
    ca = base64.b64decode(secret["data"]["ca.crt"])
    assert ca == (installation.data / "ca.crt").read_bytes()
    assert base64.b64decode(secret["data"]["namespace"]) == b"default"

    robot = "system:serviceaccount:default:robot"
    for _ in range(8):  # of two workers
        assert who(installation, token, "/clusters/demo") == robot
    assert who(installation, token) == robot, "the token says which tenant is meant"
    assert who(installation, token, "/clusters/default") == 401
    assert who(installation, token[:-4] + "AAAA", "/clusters/demo") == 401

    def noted() -> Any:
        labels = demo.get("secret", "t")["metadata"].get("labels") or {}
        return labels.get("kubernetes.io/legacy-token-last-used")

    assert eventually(noted)
    assert peeks(installation, token, "/clusters/demo") == 403
    note = '"authentication.k8s.io/legacy-token-manual-secret": "t"'
    looked = ("audit", "--tenant", "demo", "--code", "403", "--user", robot, "-o", "json")
    assert eventually(lambda: note in installation.manage(*looked).stdout), "which token it was"

    tracking = "kube-apiserver-legacy-service-account-token-tracking"
    assert demo.get("cm", "-n", "kube-system", tracking)["data"]["since"]

    demo("delete", "secret", "t")
    eventually(lambda: who(installation, token, "/clusters/demo") == 401)
    demo("apply", "-f", "-", stdin={**kind, "metadata": {**metadata, "name": "u"}})
    demo("wait", "secret/u", "--for=jsonpath={.data.token}", "--timeout=240s")
    demo("delete", "serviceaccount", "robot")
    demo("wait", "secret/u", "--for=delete", "--timeout=240s")
