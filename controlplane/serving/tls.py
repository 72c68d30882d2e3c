"""What of TLS is spoken. Said here, because the defaults are those of uvicorn, Python and OpenSSL,
and differ between their versions."""

from __future__ import annotations

import ssl
from typing import Final

OLDEST: Final = ssl.TLSVersion.TLSv1_2
CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2: such as give forward secrecy and need no padding. Those of 1.3 are all such, and
Python cannot choose among them."""


def restrict(context: ssl.SSLContext) -> None:
    """``context``: a server's."""
    context.minimum_version = OLDEST
    context.set_ciphers(CIPHERS)
