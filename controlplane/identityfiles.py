"""The files that say who else may say who somebody is: POLYPLANE_AUTHENTICATION_CONFIG_FILE, as
kube-apiserver's ``--authentication-config``, and the kubeconfig of the token webhook."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from admission.config import ConfigError
from controlplane import environment
from controlplane.configfiles import Files
from controlplane.errors import OperatorError

if TYPE_CHECKING:
    from apiserver.authn.configuration import Configuration
    from apiserver.authn.tokenwebhook import TokenWebhook

FILE, WEBHOOK = "AUTHENTICATION_CONFIG_FILE", "AUTHENTICATION_TOKEN_WEBHOOK_CONFIG_FILE"
_VERSION = "AUTHENTICATION_TOKEN_WEBHOOK_VERSION"
_SECONDS, _PAUSE = 10.0, 0.5


def read(disallowed: Collection[str]) -> Configuration:
    """Of the installation; nothing where no file is named. Raises OperatorError."""
    from apiserver.authn import claimrules, configuration  # take a moment: see check
    from apiserver.authn.configuration import ConfigurationError

    path = environment.text(FILE)
    if not path:
        return configuration.Configuration()
    try:
        with Path(path).open("rb") as file:
            data = file.read(configuration.LARGEST + 1)
        configured = configuration.read(data)
        claimrules.check(configured, disallowed)
    except OSError as e:
        raise _unusable(FILE, f"cannot be read: {e.strerror}") from None
    except ConfigurationError as e:
        raise _unusable(FILE, str(e)) from None
    return configured


def check(disallowed: Collection[str]) -> None:
    """Whether the settings can be used, before anything starts. Raises OperatorError."""
    if environment.text(FILE):
        read(disallowed)
    if environment.text(WEBHOOK):
        webhook()


def stamp(path: str) -> object:
    """Another one when the file is another, also behind a symbolic link."""
    try:
        status = os.stat(path)
    except OSError as e:
        return e.errno
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _unusable(name: str, why: str) -> OperatorError:
    return OperatorError(
        f"POLYPLANE_{name}={environment.text(name)}: {why}.",
        "correct the file (docs/operations.md, Who may come).",
    )


def webhook() -> TokenWebhook | None:
    """None where no file is named. Raises OperatorError."""
    path = environment.text(WEBHOOK)
    if not path:
        return None
    from admission.webhooks import kubeconfig
    from admission.webhooks.errors import CallFailed
    from admission.webhooks.reviewer import Reviewer
    from apiserver.authn.tokenwebhook import VERSIONS, AskError, TokenWebhook

    version = environment.text(_VERSION, VERSIONS[0])
    if version not in VERSIONS:
        raise OperatorError(
            f"POLYPLANE_{_VERSION}={version!r} is not known.", f"it is one of {VERSIONS}."
        )
    files = Files(Path(path).parent)
    try:
        backend = kubeconfig.read(files.document(Path(path).name), files.read)
    except ConfigError as e:
        raise _unusable(WEBHOOK, str(e)) from None
    reviewer = Reviewer(backend, _PAUSE, _SECONDS)

    async def ask(tenant: int, question: bytes) -> bytes:
        try:
            return await reviewer.ask(tenant, question)
        except CallFailed as error:
            raise AskError(str(error), error.code) from None

    seconds = environment.number("AUTHENTICATION_TOKEN_WEBHOOK_CACHE_SECONDS", 120, most=86_400)
    return TokenWebhook(ask, time.monotonic, version, seconds)
