"""Names of container images: ``registry:port/path/name:tag@digest`` (github.com/distribution
``reference``, which kubelet and kube-apiserver both use)."""

from __future__ import annotations

import re

_DEFAULT_REGISTRY = "docker.io"
_MOST_NAME = 255
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REFERENCE = re.compile(
    rf"(?P<name>(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?"
    rf"(?P<path>{_COMPONENT}(?:/{_COMPONENT})*))"
    r"(?::(?P<tag>[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}")
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


def tag(image: str) -> str:
    """``latest`` where the name has neither tag nor digest; "" for a digest alone, and for what is
    no name of an image."""
    registry, path = _split(image)
    if _IDENTIFIER.fullmatch(image) or path.partition(":")[0] != path.partition(":")[0].lower():
        return ""
    match = _REFERENCE.fullmatch(f"{registry}/{path}")
    if match is None or len(match["path"]) > _MOST_NAME:
        return ""
    if match["digest"] and not _DIGEST.fullmatch(match["digest"]):
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def _split(image: str) -> tuple[str, str]:
    """The registry, and the rest; the first part is a registry when it looks like a host."""
    first, slash, rest = image.partition("/")
    if not slash or (
        "." not in first and ":" not in first and first != "localhost" and first == first.lower()
    ):
        first, rest = _DEFAULT_REGISTRY, image
    if first in (_DEFAULT_REGISTRY, f"index.{_DEFAULT_REGISTRY}") and "/" not in rest:
        return _DEFAULT_REGISTRY, f"library/{rest}"
    return first, rest
