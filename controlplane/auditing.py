"""The audit log by the settings: its policy, and where it goes beside the table."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from apiserver.audit.feed import Feed
from apiserver.audit.logfile import LogFile
from apiserver.audit.policy import DEFAULT, Policy, PolicyError, parse
from apiserver.audit.recorder import Recorder
from apiserver.audit.webhook import Target, Webhook, basic
from apiserver.storage.auditlog import PER_SECOND
from controlplane import environment
from controlplane.errors import OperatorError

RETENTION_DAYS = 90
_MOST_FILE = 4 * 2**20


def recorder() -> Recorder:
    """Raises OperatorError for a file that cannot be used."""
    percent = environment.number("AUDIT_READS_PERCENT", 100, most=100)
    return Recorder(policy=policy(), sinks=sinks(), reads=percent / 100)


def retention_days() -> int:
    """0: for ever."""
    return environment.number("AUDIT_RETENTION_DAYS", RETENTION_DAYS, most=36_500)


def rows_per_second() -> int:
    return environment.number("AUDIT_ROWS_PER_SECOND", PER_SECOND, least=1)


def policy() -> Policy:
    path = environment.text("AUDIT_POLICY_FILE")
    if not path:
        return DEFAULT
    try:
        return parse(_read(path, "AUDIT_POLICY_FILE"))
    except PolicyError as e:
        raise OperatorError(
            f"POLYPLANE_AUDIT_POLICY_FILE={path} is no audit policy: {e}.",
            "write it as the Kubernetes documentation says (Auditing, audit policy).",
        ) from e


def sinks() -> list[Feed]:
    feeds: list[Feed] = []
    if path := environment.text("AUDIT_LOG_PATH"):
        feeds.append(LogFile(path))
    if path := environment.text("AUDIT_WEBHOOK_CONFIG_FILE"):
        feeds.append(Webhook(_target(path)))
    return feeds


def check() -> None:
    """Whether the settings can be used, before anything starts. Raises OperatorError."""
    recorder()
    retention_days()
    rows_per_second()
    path = environment.text("AUDIT_LOG_PATH")
    if path and path != "-":
        folder = Path(path).absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK) or Path(path).is_dir():
            raise OperatorError(
                f"POLYPLANE_AUDIT_LOG_PATH={path} cannot be written.",
                "name a file in a directory that exists and that Polyplane may write to.",
            )


def _read(path: str, name: str) -> Any:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_FILE)
        return yaml.safe_load(data)
    except OSError as e:
        raise OperatorError(
            f"POLYPLANE_{name}={path} cannot be read: {e.strerror}.",
            "correct the path or its permissions.",
        ) from e
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise OperatorError(
            f"POLYPLANE_{name}={path} is no YAML: {str(e).splitlines()[0]}.", "correct the file."
        ) from e


# --- the webhook's kubeconfig ---------------------------------------------------------------------
def _target(path: str) -> Target:
    """Of the current context, or of the only cluster and user. Paths in it are relative to it."""
    config = _read(path, "AUDIT_WEBHOOK_CONFIG_FILE")
    try:
        cluster, user = _chosen(config)
        url = str(cluster["server"])
        secure = url.startswith("https://")
        if not secure and not url.startswith("http://"):
            raise ValueError("the cluster's server is no URL")
        folder = Path(path).absolute().parent
        return Target(
            url,
            _headers(user),
            str(folder / user["tokenFile"]) if user.get("tokenFile") else "",
            _context(cluster, user, folder) if secure else None,
            str(cluster.get("tls-server-name") or ""),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OSError) as e:
        raise OperatorError(
            f"POLYPLANE_AUDIT_WEBHOOK_CONFIG_FILE={path} cannot be used: {type(e).__name__}: {e}.",
            "write a kubeconfig with a current context, its cluster and its user.",
        ) from e


def _chosen(config: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    clusters = {c["name"]: c["cluster"] for c in config["clusters"]}
    users = {u["name"]: u["user"] or {} for u in config.get("users") or ()}
    contexts = {c["name"]: c["context"] for c in config.get("contexts") or ()}
    name = config.get("current-context") or (next(iter(contexts)) if len(contexts) == 1 else "")
    context = contexts.get(name)
    if context is None:
        raise ValueError("it has no current context")
    return clusters[context["cluster"]], users.get(context.get("user"), {})


def _headers(user: Mapping[str, Any]) -> dict[str, str]:
    if user.get("token"):
        return {"Authorization": f"Bearer {user['token']}"}
    if user.get("username"):
        return {"Authorization": basic(str(user["username"]), str(user.get("password") or ""))}
    return {}


def _context(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    data, file = cluster.get("certificate-authority-data"), cluster.get("certificate-authority")
    context = ssl.create_default_context(
        cafile=str(folder / file) if file and not data else None,
        cadata=base64.b64decode(data).decode() if data else None,
    )
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = _material(user, "client-certificate"), _material(user, "client-key")
    if certificate and key:
        _load(context, certificate, key, folder)
    return context


def _material(user: Mapping[str, Any], name: str) -> bytes | str:
    """The PEM text, or the path of a file with it."""
    if data := user.get(f"{name}-data"):
        return base64.b64decode(data)
    return str(user.get(name) or "")


def _load(
    context: ssl.SSLContext, certificate: bytes | str, key: bytes | str, folder: Path
) -> None:
    """OpenSSL reads files alone: what came within the kubeconfig goes through one for a moment."""
    created: list[str] = []
    try:
        paths = []
        for material in (certificate, key):
            if isinstance(material, str):
                paths.append(str(folder / material))
                continue
            fd, path = tempfile.mkstemp()
            created.append(path)
            with os.fdopen(fd, "wb") as file:
                file.write(material)
            paths.append(path)
        context.load_cert_chain(*paths)
    finally:
        for path in created:
            with suppress(OSError):
                os.unlink(path)
