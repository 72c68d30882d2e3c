"""A client that sends bytes, not requests: what it sends need not be HTTP."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.installation import Installation

PATIENCE = 60.0
"""Seconds after which a server that neither answers nor closes is taken to hang; how fast it does
is not what is tested."""


def processor_seconds(pid: int) -> float:
    """Of all threads of a process, since it began."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


class Raw:
    """One TLS connection."""

    def __init__(self, installation: Installation) -> None:
        context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
        plain = socket.create_connection(("127.0.0.1", installation.port), PATIENCE)
        self._socket = context.wrap_socket(plain, server_hostname="127.0.0.1")

    def send(self, *parts: bytes) -> None:
        """Quiet where the server has closed already."""
        with suppress(OSError):
            for part in parts:
                self._socket.sendall(part)

    def send_in_background(self, parts: Iterable[bytes]) -> threading.Thread:
        thread = threading.Thread(target=lambda: self.send(*parts), daemon=True)
        thread.start()
        return thread

    def answer(self) -> tuple[int, bytes]:
        """(status, everything) of one answer; status 0 where the connection was closed without
        any."""
        data = b""
        while not _is_whole(data):
            part = self.receive()
            if not part:
                break
            data += part
        return (int(data[9:12]) if data.startswith(b"HTTP/1.") else 0), data

    def rest(self) -> bytes:
        """Everything until the server closes the connection. Raises TimeoutError where it does
        not."""
        data = b""
        while part := self.receive():
            data += part
        return data

    def receive(self) -> bytes:
        try:
            return self._socket.recv(65536)
        except TimeoutError:
            raise
        except OSError:
            return b""  # reset

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_whole(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    if found and b"transfer-encoding: chunked" in lines:
        return body.endswith(b"0\r\n\r\n")
    sizes = [
        int(line.removeprefix(b"content-length: "))
        for line in lines
        if line.startswith(b"content-length: ")
    ]
    return bool(found and sizes) and len(body) >= sizes[0]
