"""A webhook's clientConfig, read: what is called, how it is named in errors, and whom its
certificate must be for.

Source: k8s.io/apiserver ``pkg/util/webhook/client.go``; the query ``timeout`` is client-go's.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from admission.webhooks.errors import CallFailed
from apiserver.golang.strconv import go_quote

_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Target:
    """authority: host and port as written; name, port: who is connected to, unless service says it;
    path: with the query; service: (namespace, name), whose endpoints are called; bundle: PEM, b""
    for the system's authorities."""

    authority: str
    name: str
    port: int
    path: str
    service: tuple[str, str] | None
    bundle: bytes

    @property
    def url(self) -> str:
        return f"https://{self.authority}{self.path}"

    @classmethod
    def of(cls, config: Mapping[str, Any], timeout: float) -> Target:
        """``timeout``: seconds. Raises CallFailed for what validation should have refused."""
        try:
            bundle = base64.b64decode(config.get("caBundle") or "")
        except ValueError:
            raise CallFailed(
                "unable to load root certificates: unable to parse bytes as PEM block",
                configured=False,
            ) from None
        service = config.get("service")
        if service is not None:
            name, port = f"{service['name']}.{service['namespace']}.svc", service.get("port") or 443
            path = _path(service.get("path") or "", timeout)
            return cls(
                f"{name}:{port}", name, port, path, (service["namespace"], service["name"]), bundle
            )
        try:
            parts = urlsplit(config.get("url") or "")
            host, number = parts.hostname, parts.port or 443
        except ValueError as error:
            raise CallFailed(f"Unparsable URL: {error}", configured=False) from None
        if not host or parts.scheme != "https":
            raise CallFailed(
                "webhook configuration must have either service or URL", configured=False
            )
        if not _PRINTABLE.fullmatch(parts.netloc):
            raise CallFailed(
                f"Unparsable URL: invalid character in host name {go_quote(host)}",
                configured=False,
            )
        return cls(parts.netloc, host, number, _path(parts.path, timeout), None, bundle)


def _path(path: str, timeout: float) -> str:
    cleaned = posixpath.normpath("/" + path.lstrip("/"))
    encoded = quote(cleaned.encode("utf-8", "replace"), safe="/%:@!$&()*+,;=~-._")
    return f"{encoded}?timeout={duration(timeout)}"


def duration(seconds: float) -> str:
    """As Go writes it: 30s, 250ms."""
    return f"{round(seconds * 1000)}ms" if seconds < 1 else f"{seconds:g}s"
