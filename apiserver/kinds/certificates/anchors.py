"""Trust anchors: certificates of authorities in PEM (kubernetes
``pkg/apis/certificates/validation``, validateTrustBundle)."""

from __future__ import annotations

import base64
import binascii

from cryptography import x509

from apiserver.authn.unreadable import UNREADABLE
from apiserver.kinds.certificates import pem


def problems(bundle: str) -> list[str]:
    """What is wrong with a trust bundle. Blocks are counted from 0; what stands between them, and a
    block that is no base64, is none."""
    faults: list[str] = []
    places: dict[bytes, list[int]] = {}
    i = -1
    for block in pem.blocks(bundle.encode(errors="replace")):
        der = _decoded(block.body)
        if der is None:
            continue
        i += 1
        if why := _unfit(block, der):
            faults.append(f"entry {i} {why}")
        else:
            places.setdefault(der, []).append(i)
    if faults:
        return faults
    if not places:
        return ["at least one trust anchor must be provided"]
    return [
        f"duplicate trust anchor (indices [{' '.join(map(str, same))}])"
        for same in places.values()
        if len(same) > 1
    ]


def _decoded(body: bytes) -> bytes | None:
    """Without what headers it may have."""
    lines = [line for line in body.splitlines() if b":" not in line]
    try:
        return base64.b64decode(b"".join(b"".join(lines).split()), validate=True)
    except binascii.Error:
        return None


def _unfit(block: pem.Block, der: bytes) -> str:
    if block.type != b"CERTIFICATE":
        return f"has bad block type: {block.type.decode(errors='replace')}"
    if b":" in block.body:
        return "has PEM block headers"
    try:
        extensions = x509.load_der_x509_certificate(der).extensions
        is_authority = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    except UNREADABLE:
        return "does not parse as X.509"
    return "" if is_authority else "does not have the CA bit set"
