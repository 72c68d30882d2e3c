"""The audit webhook: batches of events as audit.k8s.io/v1 EventList, POSTed to a server of the
operator's.

Source: "Webhook backend" in the Kubernetes documentation, k8s.io/apiserver
``plugin/pkg/audit/{webhook,buffered}``. A batch is tried again a few times with growing pauses;
then it is dropped and counted. Redirects are not followed.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from apiserver.audit.feed import Feed

BATCH, BATCH_BYTES, WAIT = 400, 10 * 2**20, 1.0
TRIES = 4
FIRST_PAUSE = 1.0
TIMEOUT = 10.0
"""Seconds for each step of a call."""


class Refused(OSError):
    """The server's answer is no success. again: it may be another time."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the webhook answered {status}")
        self.again = status == 429 or status >= 500


@dataclass(frozen=True)
class Target:
    """Where to POST, and as whom. headers: those that say who asks, made for each call (raises
    OSError); context: None for plain HTTP; server_name: whom the certificate must be for."""

    url: str
    headers: Callable[[], Mapping[str, str]] = dict
    context: ssl.SSLContext | None = None
    server_name: str = ""


class Webhook(Feed):
    """first_pause: seconds before a batch is tried again; each further pause is twice as long."""

    def __init__(self, target: Target, first_pause: float = FIRST_PAUSE) -> None:
        super().__init__("audit-webhook", BATCH, BATCH_BYTES, WAIT)
        self._target, self._first_pause = target, first_pause
        self._stop = threading.Event()

    def write(self, events: Sequence[bytes]) -> None:
        body = (
            b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
            + b",".join(events)
            + b"]}"
        )
        pause = self._first_pause
        for left in reversed(range(TRIES)):
            try:
                self._post(body)
                return
            except (OSError, http.client.HTTPException) as error:
                if not left or self._stop.is_set() or not getattr(error, "again", True):
                    raise
            self._stop.wait(pause)
            pause *= 2

    def close(self, patience: float = 5.0) -> None:
        self._stop.set()
        super().close(patience)

    def _post(self, body: bytes) -> None:
        target, parts = self._target, urlsplit(self._target.url)
        connection = _connection(target)
        headers = {"Content-Type": "application/json", **target.headers()}
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            if not 200 <= response.status < 300:
                raise Refused(response.status)
        finally:
            connection.close()


def _connection(target: Target) -> http.client.HTTPConnection:
    parts = urlsplit(target.url)
    host = parts.hostname or ""
    if target.context is None:
        return http.client.HTTPConnection(host, parts.port, timeout=TIMEOUT)
    return _Named(host, parts.port, target.context, target.server_name)


class _Named(http.client.HTTPSConnection):
    """TLS by a name that need not be that of the URL (tls-server-name)."""

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT, context=context)
        self._tls, self._name = context, name

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        assert self.sock is not None
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)
