"""The CA bundle of a conversion webhook: PEM with at least one certificate (k8s.io/client-go
``transport.TLSConfigFor``)."""

from __future__ import annotations

from base64 import b64decode

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.golang import pem
from apiserver.meta.objects import Object


def bundle_of(spec: Object) -> str:
    """The bundle that a definition's spec names, in base64; "" for none."""
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    return (webhook.get("clientConfig") or {}).get("caBundle") or ""


def bundle_problem(bundle: str) -> str:
    """What is wrong with a bundle in base64; "" when it is sound, or empty."""
    if not bundle:
        return ""
    text, parsed, end = b64decode(bundle), "", 0
    for block in pem.blocks(text):
        end = block.end
        if block.type != b"CERTIFICATE" or block.has_headers:
            continue
        try:
            x509.load_der_x509_certificate(block.data)
        except (ValueError, UnsupportedAlgorithm):
            parsed = parsed or "failed to parse certificate: x509: malformed certificate"
        else:
            return ""
    unread = "unable to parse bytes as PEM block"
    nothing = "no valid certificate authority data seen"
    why = parsed or (unread if end < len(text) else nothing)
    return f"unable to load root certificates: {why}"


def bundle_errors(bundle: str, path: FieldPath) -> FieldErrors:
    why = bundle_problem(bundle)
    return [invalid(path, bundle, why)] if why else []
