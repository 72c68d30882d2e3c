"""The first start: tenants, superuser, administrator's token, kubeconfig. Every step looks first,
so that it can be repeated.

The database says whether an installation exists: a second machine on the same database gets its own
kubeconfig and nothing else new. The file ``first-start`` lies in the data directory from the first
step until the banner has been shown, so that a first start that was cut short goes on at the next
one: with a new password, because nobody has seen the old one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml
from django.contrib.auth.models import User
from django.db import connection, transaction

from apiserver.user import MASTERS
from controlplane.console import attempts
from controlplane.datadir import DataDir
from controlplane.kubeconfig import kubeconfig
from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import Tenant

ADMIN = "admin"
KUBECONFIG = "admin.kubeconfig"
PASSWORD = "admin.password"  # noqa: S105  a file's name
_PENDING = "first-start"
_LOCK = 5787  # advisory, of this module


@dataclass(frozen=True, slots=True)
class Initialised:
    """first: whether this start made the installation; password: the superuser's, "" when it
    existed."""

    first: bool
    password: str
    kubeconfig: Path


def initialise(data: DataDir, base: str, ca_pem: bytes) -> Initialised:
    """``base``: the address that goes into the kubeconfig."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if service.ensure_tenant(service.DEFAULT, display_name="Default"):
            data.write_secret(_PENDING, b"")
            service.ensure_tenant("demo", display_name="Demo")
        service.apply_default_limits()
        first = data.file(_PENDING).exists()
        password = set_password() if first or not User.objects.exists() else ""
    return Initialised(first, password, write_kubeconfig(data, base, ca_pem))


def finish_first_start(data: DataDir) -> None:
    """The banner is out: the first start is over."""
    data.file(_PENDING).unlink(missing_ok=True)


def set_password() -> str:
    """Gives the superuser a new random password, making the account if it is not there; returns the
    password."""
    password = secrets.token_urlsafe(15)
    user, _ = User.objects.get_or_create(username=ADMIN)
    user.is_active = user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    attempts.unlock(ADMIN)
    return password


def write_kubeconfig(data: DataDir, base: str, ca_pem: bytes) -> Path:
    """Writes the administrator's kubeconfig when it is missing, or its address, CA or token is out
    of date. Keeps a token that works.

    This is the one token that is made for every tenant and for ever: it stays in the data
    directory, whose owner can read all else too."""
    path = data.file(KUBECONFIG)
    token = admin_token(path) or _operators_token(path)
    names = [service.DEFAULT, *(["demo"] if Tenant.objects.filter(name="demo").exists() else [])]
    text = kubeconfig(base, ca_pem, names, ADMIN, token)
    if not path.exists() or path.read_text() != text:
        data.write_secret(KUBECONFIG, text.encode())
    return path


def _operators_token(path: Path) -> str:
    return tokens.create_token(
        ADMIN, groups=[MASTERS], tenant=None, lifetime=None, description=f"kubeconfig {path}"
    ).secret


def admin_token(path: Path) -> str:
    """The token in the kubeconfig, "" when there is none that the database knows."""
    try:
        token = str(yaml.safe_load(path.read_text())["users"][0]["user"]["token"])
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError):
        return ""
    return token if tokens.is_known(token) else ""
