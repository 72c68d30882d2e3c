"""The files that a worker's certificate and key come from, followed while it serves: whoever renews
them (an ACME client, cert-manager, the supervisor) need not restart anything.

As kube-apiserver's ``--tls-cert-file`` (k8s.io/apiserver ``server/dynamiccertificates``):
connections that are made after a look have the new certificate, those that there are go on.
"""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

log = logging.getLogger("polyplane.serving")

EVERY = 10
"""Seconds from one look to the next."""


class CertificateFiles:
    """context: a server's, which has read the files a moment ago."""

    def __init__(self, context: ssl.SSLContext, certificate: Path, key: Path) -> None:
        self._context, self._files = context, (certificate, key)
        self._seen = self._stamps()

    def look(self) -> None:
        """Reads them where they are others than before. Two that do not belong together, as
        between the writing of the one and of the other, change nothing."""
        stamps = self._stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self._files)
            self._context.load_cert_chain(*self._files)
        except OSError as e:  # SSLError is one
            log.error("the new certificate %s cannot be used: %s", self._files[0], e)
        else:
            log.info("certificate %s was read anew", self._files[0])

    def _stamps(self) -> list[object]:
        """Of what is behind symbolic links: secrets are mounted as such."""
        stamps: list[object] = []
        for file in self._files:
            try:
                status = os.stat(file)
            except OSError as e:
                stamps.append(e.errno)
            else:
                stamps.append((status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size))
        return stamps
