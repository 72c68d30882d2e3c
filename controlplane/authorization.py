"""Who decides about requests, by the settings: POLYPLANE_AUTHORIZATION_CONFIG_FILE as
kube-apiserver's ``--authorization-config``, or POLYPLANE_AUTHORIZATION_MODE as
``--authorization-mode``.

The file is read anew when it changes. One that is wrong changes nothing (kubernetes
``pkg/kubeapiserver/authorizer/reload.go``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from controlplane import environment
from controlplane.errors import OperatorError

if TYPE_CHECKING:
    from apiserver.authorizers.chain import Authority
    from apiserver.authorizers.configuration import Configured
    from apiserver.authorizers.links import Link, Named

log = logging.getLogger("polyplane.authorization")

FILE, MODE = "AUTHORIZATION_CONFIG_FILE", "AUTHORIZATION_MODE"
INTERVAL = 10.0
"""Seconds between looks at the file."""
_GRACE = 60.0
"""Seconds until authorizers that a new file has replaced are closed: requests that had begun still
ask them."""
_FIX = "correct it (docs/operations.md, Who decides about requests)."


def check() -> None:
    """Whether the settings can be used, before anything starts. Raises OperatorError."""
    if environment.text(FILE) or environment.text(MODE):
        from apiserver.authorizers.chain import Authority  # takes a moment

        Chosen(Authority()).configure()


def allows_everybody() -> bool:
    """Whether the mode has AlwaysAllow. As kube-apiserver, which looks at ``--authorization-mode``
    for this and not into the file (``pkg/kubeapiserver/options/authentication.go``)."""
    return "AlwaysAllow" in environment.words(MODE)


class Chosen:
    """What the settings say, put into an authority."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._path = environment.text(FILE)
        self._data: bytes | None = None

    def configure(self) -> None:
        """At the start. Raises OperatorError."""
        from admission.config import ConfigError
        from apiserver.authorizers.configuration import of_modes

        modes = environment.words(MODE)
        if self._path and modes:
            raise OperatorError(
                f"POLYPLANE_{FILE} and POLYPLANE_{MODE} are both set.", "unset one of them."
            )
        try:
            links = self._changed() if self._path else None
            if modes:
                links = _links(self._authority, of_modes(modes))
        except ConfigError as error:
            name, value = (FILE, self._path) if self._path else (MODE, ",".join(modes))
            raise OperatorError(f"POLYPLANE_{name}={value}: {error}.", _FIX) from None
        if links is not None:
            self._authority.use(links)

    async def follow(self, interval: float = INTERVAL) -> None:
        """Reads the file again whenever it says something else than before."""
        from admission.config import ConfigError
        from apiserver.authorizers import counts

        while self._path:
            await asyncio.sleep(interval)
            try:
                links = await asyncio.to_thread(self._changed)
            except ConfigError as error:
                counts.reloaded("failure")
                log.error("POLYPLANE_%s=%s changes nothing: %s", FILE, self._path, error)
                continue
            if links is not None:
                counts.reloaded("success")
                _retire(self._authority.use(links))
                log.info("POLYPLANE_%s=%s has been read again", FILE, self._path)

    def _changed(self) -> list[Named] | None:
        """None where the file is as it was. Raises ConfigError, once for each state of it."""
        from controlplane.configfiles import Files

        path = Path(self._path)
        data = Files(path.parent).read(path.name)
        if data == self._data:
            return None
        self._data = data
        return _links(self._authority, _configured(data))


def _retire(before: Sequence[Named]) -> None:
    loop = asyncio.get_running_loop()
    for named in before:
        loop.call_later(_GRACE, named.link.close)


def _configured(data: bytes) -> list[Configured]:
    """Raises ConfigError."""
    from admission.config import ConfigError
    from apiserver.authorizers.configuration import read

    try:
        document = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise ConfigError(f"failed to load AuthorizationConfiguration from file: {text}") from None
    return read(document, _problem)


def _links(authority: Authority, configured: Sequence[Configured]) -> list[Named]:
    """Raises ConfigError."""
    from apiserver.authorizers.links import Named

    return [Named(one.name, one.type, _link(authority, one)) for one in configured]


def _link(authority: Authority, one: Configured) -> Link:
    from admission.config import ConfigError
    from admission.webhooks.kubeconfig import read as read_kubeconfig
    from admission.webhooks.reviewer import Reviewer
    from apiserver.authorizers.conditions import Conditions
    from apiserver.authorizers.links import AlwaysAllow, AlwaysDeny
    from apiserver.authorizers.nodes import Node
    from apiserver.authorizers.rbac import Rbac
    from apiserver.authorizers.webhook import AT_ONCE, PAUSE, Webhook
    from controlplane.configfiles import Files

    if one.called is None:
        makers: dict[str, Callable[[], Link]] = {
            "AlwaysAllow": AlwaysAllow,
            "AlwaysDeny": AlwaysDeny,
            "Node": Node,
            "RBAC": lambda: Rbac(authority.indexes),
        }
        return makers[one.type]()
    path = Path(one.called.kubeconfig)
    files = Files(path.parent)
    try:
        backend = read_kubeconfig(files.document(path.name), files.read)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    reviewer = Reviewer(backend, PAUSE, one.called.timeout, AT_ONCE)
    return Webhook(one.name, one.called.settings, Conditions(one.called.conditions), reviewer)


def _problem(path: str) -> str:
    """Why there is no file at the path, in Go's words; "" where there is one."""
    try:
        regular = Path(path).is_file()
        Path(path).stat()
    except OSError as error:
        return f"error loading file: stat {path}: {(error.strerror or '').lower()}"
    return "" if regular else "must be a regular file"
