"""What `cryptography` raises for certificates and requests that it cannot read: when it loads them,
or when one of their parts is first asked for. Its errors have no base in common."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509 import DuplicateExtension, InvalidVersion, UnsupportedGeneralNameType

UNREADABLE = (
    *(ValueError, TypeError, InvalidVersion, DuplicateExtension),
    *(UnsupportedAlgorithm, UnsupportedGeneralNameType),
)
"""TypeError: a name of the wrong type of ASN.1."""
