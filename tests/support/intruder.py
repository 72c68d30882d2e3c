"""A tenant in which ``eve`` may write roles, bindings, service accounts and certificate requests,
and a friend and an account hold more than she does."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from admission.chain import Chain
from admission.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from apiserver.authz.rbac import GROUP
from apiserver.kinds.rbac.aggregation import aggregated_rules
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from tests.support.api import Api, serving
from tests.support.grants import MAPS, NS, WRITES, binding, role, rule
from tests.support.memorystore import MemoryStore
from tests.support.users import RBAC, ROOT, authorizing

CERTIFICATES = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ACCOUNTS = "/api/v1/namespaces/ns/serviceaccounts"
KINDS = {
    "Role": f"{NS}/roles",
    "ClusterRole": f"{RBAC}/clusterroles",
    "RoleBinding": f"{NS}/rolebindings",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
}
LABEL = {"agg": "yes"}
AGGREGATION = {"clusterRoleSelectors": [{"matchLabels": LABEL}]}
STRONG = {"kind": "ServiceAccount", "name": "strong", "namespace": "ns"}
SECRETS = [rule("secrets", ["get", "list"], "")]
HERS = [
    rule("*", WRITES),
    *MAPS,
    rule("serviceaccounts", ["create", "get", "update", "patch"], ""),
    rule(
        "certificatesigningrequests certificatesigningrequests/approval "
        "certificatesigningrequests/status",
        ["create", "get", "update", "patch"],
        "certificates.k8s.io",
    ),
]


@cache
def pem(*organizations: str) -> str:
    """A certificate request for eve in those groups."""
    names = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, o) for o in organizations]
    names.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, "eve"))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    made = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def signing(name: str, *organizations: str) -> Object:
    signer, usages = "kubernetes.io/kube-apiserver-client", ["client auth"]
    spec = {"request": pem(*organizations), "signerName": signer, "usages": usages}
    return {"metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def intruded() -> AsyncIterator[Api]:
    """Without a database; what controllers do is done by `gather`."""
    async with serving(MemoryStore(), 1) as api:
        authorizing(api)
        restrictions = CertificateSubjectRestriction()
        api.registry.chain = Chain(
            [restrictions, CertificateApproval(decide), CertificateSigning(decide)]
        )
        for made in (
            role("writer", HERS),
            role("secrets", SECRETS),
            role("part", MAPS, labels=LABEL),
            {"metadata": {"name": "collector"}, "aggregationRule": AGGREGATION},
        ):
            made["metadata"]["labels"] = made.pop("labels", {})
            await api.ok("POST", KINDS["ClusterRole"], made, **ROOT)
        await api.ok("POST", KINDS["Role"], role("inner", SECRETS), **ROOT)
        strong: Any = binding("strong", "secrets", "friend")
        strong["subjects"].append(STRONG)
        for given in (
            binding("writer", "writer", "eve"),
            binding("collector", "collector", "eve"),
            strong,
        ):
            await api.ok("POST", KINDS["ClusterRoleBinding"], given, **ROOT)
        await api.ok("POST", ACCOUNTS, {"metadata": {"name": "strong"}}, **ROOT)
        await api.ok("POST", CERTIFICATES, signing("wanted", "dev"), **ROOT)
        await gather(api)
        yield api


async def gather(api: Api) -> None:
    """What the controller of aggregated roles does."""
    roles = (await api.ok("GET", KINDS["ClusterRole"], **ROOT))["items"]
    rules = aggregated_rules(roles)
    for one in roles:
        due = rules.get(one["metadata"]["name"])
        if due is not None and due != (one.get("rules") or []):
            path = f"{KINDS['ClusterRole']}/{one['metadata']['name']}"
            body = {**one, "kind": "ClusterRole", "rules": due, "apiVersion": f"{GROUP}/v1"}
            await api.ok("PUT", path, body, **ROOT)
    for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings"):
        await api.registry.watches.fresh(1, GroupResource(GROUP, resource))
