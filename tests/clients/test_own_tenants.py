"""SelfTenantReview, asked by people without any role, against two workers of a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.installation import Installation, eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = pytest.mark.slow
REVIEW = {"apiVersion": "tenancy.polyplane.dev/v1", "kind": "SelfTenantReview"}


def asks(installation: Installation, user: str) -> Kubectl:
    token = installation.manage("token", "create", user).stdout.strip()
    assert token.startswith("pp_")
    path = installation.data / f"{user}.kubeconfig"
    server = f"https://127.0.0.1:{installation.port}"
    authority = str(installation.data / "ca.crt")
    path.write_text(
        json.dumps(
            {
                "clusters": [
                    {"name": "c", "cluster": {"server": server, "certificate-authority": authority}}
                ],
                "users": [{"name": "u", "user": {"token": token}}],
                "contexts": [{"name": "default", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    return Kubectl(path, installation.data)


def told(kubectl: Kubectl) -> list[dict[str, Any]]:
    review = json.loads(kubectl("create", "-o", "json", "-f", "-", stdin=REVIEW))
    tenants: list[dict[str, Any]] = review["status"].get("tenants", [])
    return tenants


@NEEDS_KUBECTL
def test_owners_are_told_theirs_and_others_nothing(
    installation: Installation, kubectl: Kubectl
) -> None:
    spec = {"displayName": "Acme Ltd", "owners": [{"kind": "User", "name": "alice"}]}
    acme = {"apiVersion": REVIEW["apiVersion"], "kind": "Tenant", "metadata": {"name": "acme"}}
    kubectl("apply", "-f", "-", stdin={**acme, "spec": spec})
    alice, eve = asks(installation, "alice"), asks(installation, "eve")
    mine = {
        "name": "acme",
        "displayName": "Acme Ltd",
        "path": "/clusters/acme",
        "suspended": False,
    }
    eventually(lambda: told(alice) == [mine])
    assert told(eve) == []
    assert "yes" in eve("auth", "can-i", "create", "selftenantreviews.tenancy.polyplane.dev")
    eve.refused("auth", "can-i", "list", "tenants.tenancy.polyplane.dev")
