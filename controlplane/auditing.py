"""The audit log by the settings: its policy, and where it goes beside the table."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import yaml

from admission.config import ConfigError
from apiserver.audit.feed import Feed
from apiserver.audit.logfile import LogFile
from apiserver.audit.policy import DEFAULT, Policy, PolicyError, parse
from apiserver.audit.recorder import Recorder
from apiserver.audit.webhook import Target, Webhook
from apiserver.storage.auditlog import PER_SECOND
from controlplane import environment
from controlplane.configfiles import Files
from controlplane.errors import OperatorError

log = logging.getLogger("polyplane.audit")

RETENTION_DAYS = 90


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
        return parse(_policy_document(path))
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
    """Whether the settings can be used, before anything starts; a warning for each unknown field of
    the policy, which does not count. Raises OperatorError."""
    for field in recorder().policy.ignored:
        log.warning("POLYPLANE_AUDIT_POLICY_FILE: unknown field %s, which is left out", field)
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


def _policy_document(path: str) -> Any:
    try:
        return yaml.safe_load(Files(Path(path).parent).read(Path(path).name))
    except ConfigError as e:
        raise OperatorError(
            f"POLYPLANE_AUDIT_POLICY_FILE={path}: {e}.", "correct the path or its permissions."
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise OperatorError(
            f"POLYPLANE_AUDIT_POLICY_FILE={path} is no YAML: {str(e).splitlines()[0]}.",
            "correct the file.",
        ) from e


def _target(path: str) -> Target:
    """Where the kubeconfig of that path leads. Paths in it are relative to it."""
    from admission.webhooks import kubeconfig  # takes a moment

    files = Files(Path(path).parent)
    try:
        backend = kubeconfig.read(files.document(Path(path).name), files.read, kubeconfig.PORTS)
    except ConfigError as e:
        raise OperatorError(
            f"POLYPLANE_AUDIT_WEBHOOK_CONFIG_FILE={path} cannot be used: {e}.",
            "write a kubeconfig with a current context, its cluster and its user.",
        ) from None

    def headers() -> dict[str, str]:
        try:
            return dict(backend.headers())
        except ConfigError as e:  # the token's file is not what it was at the start
            raise OSError(str(e)) from None

    context = backend.context if backend.scheme == "https" else None
    return Target(backend.url, headers, context, backend.name)
