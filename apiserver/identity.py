"""Who this API server is among others: by the name of its machine (k8s.io/apiserver
``server/config.go``). Metrics tell its hash."""

from __future__ import annotations

import hashlib
import socket
from base64 import b32encode
from functools import cache

_KIND = b"kube-apiserver"


def server_id(hostname: str) -> str:
    """As a kube-apiserver on that machine calls itself: both names, with two bytes of length before
    each, make the hash."""
    parts = (hostname.encode(), _KIND)
    told = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    half = hashlib.sha256(told).digest()[:16]
    return f"apiserver-{b32encode(half).decode().rstrip('=').lower()}"


@cache
def server_id_hash() -> str:
    """Of this machine's server, as a label has it."""
    return f"sha256:{hashlib.sha256(server_id(socket.gethostname()).encode()).hexdigest()}"
