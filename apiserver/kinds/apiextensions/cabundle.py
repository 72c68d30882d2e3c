"""The CA bundle of a conversion webhook: PEM with at least one certificate (k8s.io/client-go
``transport.TLSConfigFor``)."""

from __future__ import annotations

import re
from base64 import b64decode

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.meta.objects import Object

_BLOCK = re.compile(rb"-----BEGIN ([^-\n]*)-----\s.*?-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL)


def bundle_of(spec: Object) -> str:
    """The bundle that a definition's spec names, in base64; "" for none."""
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    return (webhook.get("clientConfig") or {}).get("caBundle") or ""


def bundle_problem(bundle: str) -> str:
    """What is wrong with a bundle in base64; "" when it is sound, or empty."""
    if not bundle:
        return ""
    text, parsed = b64decode(bundle), ""
    blocks = list(_BLOCK.finditer(text))
    for block in blocks:
        if block[1] != b"CERTIFICATE" or b":" in block[0]:
            continue
        try:
            x509.load_pem_x509_certificate(block[0])
        except (ValueError, UnsupportedAlgorithm):
            parsed = parsed or "failed to parse certificate: x509: malformed certificate"
        else:
            return ""
    rest = text[blocks[-1].end() :] if blocks else text
    why = parsed or (
        "unable to parse bytes as PEM block" if rest else "no valid certificate authority data seen"
    )
    return f"unable to load root certificates: {why}"


def bundle_errors(bundle: str, path: FieldPath) -> FieldErrors:
    why = bundle_problem(bundle)
    return [invalid(path, bundle, why)] if why else []
