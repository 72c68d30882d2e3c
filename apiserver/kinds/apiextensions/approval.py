"""The approval that definitions of the community's groups need (k8s.io/apiextensions-apiserver
``apihelpers``)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object
from apiserver.schema.formats import check_of

APPROVED = "api-approved.kubernetes.io"
_ENHANCEMENT = "see https://github.com/kubernetes/enhancements/pull/1111"


def is_protected(group: str) -> bool:
    """Groups of the Kubernetes community need an approval."""
    return any(
        group == domain or group.endswith(f".{domain}") for domain in ("k8s.io", "kubernetes.io")
    )


def approval(annotations: Any) -> tuple[str, str]:
    """("missing", "bypassed", "approved" or "invalid", why)."""
    text = (annotations or {}).get(APPROVED, "")
    needed = f"protected groups must have approval annotation {go_quote(APPROVED)}"
    if not text:
        return "missing", f"{needed}, {_ENHANCEMENT}"
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(text)}"
    is_uri = check_of("uri")
    if is_uri is not None and is_uri(text) and (url := urlsplit(text)).scheme and url.netloc:
        return "approved", f"approved in {text}"
    return (
        "invalid",
        f'{needed} with either a URL or a reason starting with "unapproved", {_ENHANCEMENT}',
    )


def approval_errors(new: Object, old: Object | None) -> FieldErrors:
    if not is_protected(new.get("spec", {}).get("group", "")):
        return []
    annotations = new["metadata"].get("annotations") or {}
    state, why = approval(annotations)
    if old is not None and approval(old["metadata"].get("annotations"))[0] == state:
        return []
    path = FieldPath("metadata.annotations").key(APPROVED)
    if state == "missing":
        return [required(path, why)]
    return [invalid(path, annotations[APPROVED], why)] if state == "invalid" else []
