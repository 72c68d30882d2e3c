"""ClusterTrustBundle: the X.509 trust anchors of a signer, or of nobody in particular.

Source: kubernetes ``pkg/apis/certificates/validation`` and
``pkg/registry/certificates/clustertrustbundle``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, too_long
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.certificates import anchors
from apiserver.kinds.certificates.signers import signer_name_errors
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import namerules
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

LARGEST = 1024 * 1024
"""Bytes of spec.trustBundle."""
_METADATA, _SIGNER = FieldPath("metadata"), FieldPath("spec.signerName")
_BUNDLE = FieldPath("spec.trustBundle")


@register("certificates.k8s.io", "ClusterTrustBundle")
class ClusterTrustBundle(Kind):
    allow_unconditional_update = False
    generation = False
    name_rule = staticmethod(namerules.anything)  # it depends on the signer

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        signer, errors = _signer(obj), []
        for member, is_prefix in (("generateName", True), ("name", False)):
            if name := obj["metadata"].get(member):
                path = _METADATA.child(member)
                errors += [invalid(path, name, why) for why in _misnamed(name, is_prefix, signer)]
        return [*errors, *(signer_name_errors(signer, _SIGNER) if signer else ())]

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_bundle_errors(_bundle(obj)))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        changed = _bundle(obj) != _bundle(old)
        return [
            *(_bundle_errors(_bundle(obj)) if changed else ()),
            *c.immutable(_signer(obj), _signer(old), _SIGNER),
        ]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"spec.signerName": _signer(obj)}

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [obj["metadata"]["name"], _signer(obj) or "<none>"]


def _signer(obj: Object) -> str:
    return (obj.get("spec") or {}).get("signerName") or ""


def _bundle(obj: Object) -> str:
    return (obj.get("spec") or {}).get("trustBundle") or ""


def _misnamed(name: str, is_prefix: bool, signer: str) -> list[str]:
    """A signer's bundles are named after it, with colons for slashes."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return namerules.dns_subdomain(name, is_prefix)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [
            f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}",
        ]
    return namerules.dns_subdomain(name.removeprefix(prefix), is_prefix)


def _bundle_errors(bundle: str) -> c.Errors:
    if len(bundle.encode(errors="surrogatepass")) > LARGEST:
        yield too_long(_BUNDLE, LARGEST)
        return
    for why in anchors.problems(bundle):
        yield invalid(_BUNDLE, "<value omitted>", why)
