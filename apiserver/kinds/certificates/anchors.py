"""Trust anchors: certificates of authorities in PEM (kubernetes
``pkg/apis/certificates/validation``, validateTrustBundle)."""

from __future__ import annotations

from cryptography import x509

from apiserver.authn.unreadable import UNREADABLE
from apiserver.golang import pem


def problems(bundle: str) -> list[str]:
    """What is wrong with a trust bundle. Blocks are counted from 0; what stands between them, and a
    block that is no base64, is none."""
    faults: list[str] = []
    places: dict[bytes, list[int]] = {}
    for i, block in enumerate(pem.blocks(bundle.encode(errors="replace"))):
        if why := _unfit(block):
            faults.append(f"entry {i} {why}")
        else:
            places.setdefault(block.data, []).append(i)
    if faults:
        return faults
    if not places:
        return ["at least one trust anchor must be provided"]
    return [
        f"duplicate trust anchor (indices [{' '.join(map(str, same))}])"
        for same in places.values()
        if len(same) > 1
    ]


def _unfit(block: pem.Block) -> str:
    if block.type != b"CERTIFICATE":
        return f"has bad block type: {block.type.decode(errors='replace')}"
    if block.has_headers:
        return "has PEM block headers"
    try:
        extensions = x509.load_der_x509_certificate(block.data).extensions
        is_authority = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    except UNREADABLE:
        return "does not parse as X.509"
    return "" if is_authority else "does not have the CA bit set"
