"""The first start: tenants, superuser, administrator's token, kubeconfig. Every step looks first, so that it can be repeated.

The database says whether an installation exists: a second machine on the same database gets its own kubeconfig and nothing else new.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml
from django.contrib.auth.models import User
from django.db import connection, transaction

from controlplane.datadir import DataDir
from controlplane.kubeconfig import kubeconfig
from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import ApiToken, Tenant

ADMIN = "admin"
MASTERS = "system:masters"
KUBECONFIG = "admin.kubeconfig"
_LOCK = 5787  # advisory, of this module


@dataclass(frozen=True, slots=True)
class Initialised:
    """first: whether this start made the installation; password: the superuser's, "" when it existed."""

    first: bool
    password: str
    kubeconfig: Path


def initialise(data: DataDir, base: str, ca_pem: bytes) -> Initialised:
    """``base``: the address that goes into the kubeconfig."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        first = service.ensure_tenant(service.DEFAULT, display_name="Default")
        if first:
            service.ensure_tenant("demo", display_name="Demo")
        password = _superuser()
    return Initialised(first, password, write_kubeconfig(data, base, ca_pem))


def _superuser() -> str:
    """Makes the superuser when there is no user at all; returns the new password or ""."""
    if User.objects.exists():
        return ""
    password = secrets.token_urlsafe(15)
    User.objects.create_superuser(ADMIN, email="", password=password)
    return password


def write_kubeconfig(data: DataDir, base: str, ca_pem: bytes) -> Path:
    """Writes the administrator's kubeconfig when it is missing, or its address, CA or token is out of date. Keeps a token that works."""
    path = data.file(KUBECONFIG)
    token = admin_token(path) or tokens.create_token(ADMIN, groups=[MASTERS], description=f"kubeconfig {path}").secret
    names = [service.DEFAULT, *(["demo"] if Tenant.objects.filter(name="demo").exists() else [])]
    text = kubeconfig(base, ca_pem, names, ADMIN, token)
    if not path.exists() or path.read_text() != text:
        data.write_secret(KUBECONFIG, text.encode())
    return path


def admin_token(path: Path) -> str:
    """The token in the kubeconfig, "" when there is none that the database knows."""
    try:
        token = str(yaml.safe_load(path.read_text())["users"][0]["user"]["token"])
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError):
        return ""
    known = ApiToken.objects.filter(hash=tokens.token_hash(token), revoked_at=None).exists()
    return token if known else ""
