"""kubeconfig files: one context per tenant, the server's CA inside, a bearer token as the user."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import yaml

from controlplane.tenancy.service import DEFAULT


def tenant_url(base: str, tenant: str) -> str:
    """The address of a tenant's API: the default tenant has no prefix."""
    return base if tenant == DEFAULT else f"{base}/clusters/{tenant}"


def tenant_host_url(base: str, tenant: str, domain: str) -> str:
    """The same at the tenant's own host, without a path that clients could drop."""
    port = urlsplit(base).port
    return f"https://{tenant}.{domain}" + (f":{port}" if port else "")


def tenant_port_url(base: str, port: int) -> str:
    """The same at a port of the tenant's own."""
    host = urlsplit(base).hostname or ""
    return f"https://{f'[{host}]' if ':' in host else host}:{port}"


def kubeconfig(
    base: str, ca_pem: bytes, tenants: Sequence[str], user: str, token: str, server: str = ""
) -> str:
    """YAML text; the first tenant is the current context. ``ca_pem`` empty: the system's trust
    store decides. ``server``: the one tenant's own address, in the place of a path."""
    ca = {"certificate-authority-data": base64.b64encode(ca_pem).decode()} if ca_pem else {}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": f"polyplane-{t}",
                "cluster": {
                    "server": server or tenant_url(base, t),
                    **ca,
                },
            }
            for t in tenants
        ],
        "users": [{"name": f"polyplane-{user}", "user": {"token": token}}],
        "contexts": [
            {"name": t, "context": {"cluster": f"polyplane-{t}", "user": f"polyplane-{user}"}}
            for t in tenants
        ],
        "current-context": tenants[0],
    }
    return yaml.safe_dump(config, sort_keys=False)


def server_of(text: str) -> str:
    """The address in a kubeconfig that this module made, without a tenant; "" for any other
    text."""
    try:
        return str(yaml.safe_load(text)["clusters"][0]["cluster"]["server"]).partition(
            "/clusters/"
        )[0]
    except (yaml.YAMLError, KeyError, IndexError, TypeError):
        return ""


def merge(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """``theirs`` with our clusters, users and contexts added or replaced; contexts get the prefix
    ``polyplane-``, so that none of theirs is lost, and the current context stays."""
    contexts = [{**c, "name": f"polyplane-{c['name']}"} for c in ours["contexts"]]
    merged = {"apiVersion": "v1", "kind": "Config", **theirs}
    for part, entries in (
        ("clusters", ours["clusters"]),
        ("users", ours["users"]),
        ("contexts", contexts),
    ):
        names = {e["name"] for e in entries}
        merged[part] = [e for e in merged.get(part) or [] if e["name"] not in names] + entries
    merged["current-context"] = merged.get("current-context") or contexts[0]["name"]
    return merged
