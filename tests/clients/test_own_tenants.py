"""SelfTenantReview, asked by people without any role, against two workers of a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.installation import Installation, eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = pytest.mark.slow
REVIEW = {"apiVersion": "tenancy.polyplane.dev/v1", "kind": "SelfTenantReview"}


def asks(installation: Installation, user: str, *options: str) -> Kubectl:
    token = installation.manage("token", "create", user, *options).stdout.strip()
    assert token.startswith("pp_")
    return with_token(installation, user, token)


def with_token(installation: Installation, user: str, token: str) -> Kubectl:
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


def within(installation: Installation, tenant: str) -> str:
    return f"--server=https://127.0.0.1:{installation.port}/clusters/{tenant}"


def ways(kubectl: Kubectl) -> dict[str, list[str]]:
    return {tenant["name"]: tenant["through"] for tenant in told(kubectl)}


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
        "through": ["owner"],
    }
    eventually(lambda: told(alice) == [mine])
    assert told(eve) == []
    assert "yes" in eve("auth", "can-i", "create", "selftenantreviews.tenancy.polyplane.dev")
    eve.refused("auth", "can-i", "list", "tenants.tenancy.polyplane.dev")


@NEEDS_KUBECTL
def test_nobody_lists_or_watches_what_only_answers(kubectl: Kubectl) -> None:
    """kube-controller-manager asks discovery what there is to list, and did so without end."""
    group = json.loads(kubectl("get", "--raw", "/apis/tenancy.polyplane.dev/v1"))
    verbs = {r["name"]: r["verbs"] for r in group["resources"]}
    assert verbs["selftenantreviews"] == ["create"]
    assert {"list", "watch", "delete"} < {*verbs["tenants"]}
    refused = kubectl.refused("get", "--raw", "/apis/tenancy.polyplane.dev/v1/selftenantreviews")
    assert "MethodNotAllowed" in refused


@NEEDS_KUBECTL
def test_those_that_a_binding_names_are_told_the_tenant(
    installation: Installation, kubectl: Kubectl
) -> None:
    owners = ("--owner", "User:olga", "--owner", "Group:chiefs")
    installation.manage("tenant", "create", "bound-a", *owners)
    installation.manage("tenant", "create", "bound-b")
    a, b = within(installation, "bound-a"), within(installation, "bound-b")
    bob = asks(installation, "bob", "--group", "devs")
    olga = asks(installation, "olga", "--all-tenants")
    assert ways(bob) == {}
    kubectl(a, "create", "rolebinding", "bobs", "--clusterrole=view", "--user=bob")
    kubectl(b, "create", "clusterrolebinding", "devs", "--clusterrole=view", "--group=devs")
    assert ways(bob) == {"bound-a": ["binding"], "bound-b": ["binding"]}
    behind = json.loads(
        bob("create", "-o", "json", "-f", "-", stdin={**REVIEW, "spec": {"after": "bound-a"}})
    )["status"]
    assert [t["name"] for t in behind["tenants"]] == ["bound-b"]
    assert (behind["count"], behind["truncated"]) == (1, False)
    odd = bob.refused("create", "-f", "-", stdin={**REVIEW, "spec": {"after": "Bound A"}})
    assert 'spec.after: Invalid value: "Bound A": must be a tenant\'s name' in odd
    assert ways(olga) == {"bound-a": ["owner"]}, "by the owners' own binding no less, no more"
    kubectl(a, "create", "clusterrolebinding", "olgas", "--clusterrole=view", "--user=olga")
    assert ways(olga) == {"bound-a": ["owner", "binding"]}

    everybody = ("--group=system:authenticated", "--serviceaccount=default:bot")
    kubectl(b, "create", "clusterrolebinding", "all", "--clusterrole=view", *everybody)
    kubectl("create", "serviceaccount", "bot")
    token = kubectl("create", "token", "bot").strip()
    bot = with_token(installation, "bot", token)
    assert ways(bot) == {}
    kubectl("create", "rolebinding", "bots", "--clusterrole=view", "--serviceaccount=default:bot")
    assert ways(bot) == {"default": ["binding"]}
    assert ways(asks(installation, "eve", "--all-tenants")) == {}
    assert ways(kubectl) == {}, "nor an operator, of every tenant"

    installation.manage("tenant", "suspend", "bound-b")
    suspended = {tenant["name"]: tenant["suspended"] for tenant in told(bob)}
    assert suspended == {"bound-a": False, "bound-b": True}
    kubectl(a, "patch", "rolebinding", "bobs", "--type=merge", "-p", '{"subjects": []}')
    assert ways(bob) == {"bound-b": ["binding"]}
    installation.manage("tenant", "delete", "bound-b", "--yes")
    assert ways(bob) == {}


@NEEDS_KUBECTL
def test_who_acts_as_somebody_is_told_what_he_may_do_himself(
    installation: Installation, kubectl: Kubectl
) -> None:
    installation.manage("tenant", "create", "of-ina", "--owner", "User:ina")
    assert ways(kubectl) == {}
    as_ina = ("create", "--as=ina", "-o", "json", "-f", "-")
    operators = json.loads(kubectl(*as_ina, stdin=REVIEW))
    assert [t["name"] for t in operators["status"]["tenants"]] == ["of-ina"]
    kubectl("create", "clusterrolebinding", "mia", "--clusterrole=cluster-admin", "--user=mia")
    mia = asks(installation, "mia")
    assert json.loads(mia(*as_ina, stdin=REVIEW))["status"]["tenants"] == []
    assert ways(mia) == {"default": ["binding"]}
