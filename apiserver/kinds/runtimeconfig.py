"""Which built-in API versions are served: kube-apiserver's --runtime-config.

Keys, from weak to strong: ``api/all``; ``api/alpha``, ``api/beta``, ``api/ga``, ``api/legacy``;
``GROUP/VERSION``; ``GROUP/VERSION/RESOURCE``. The core group is written without a group:
``v1/endpoints=false``. `apiserver.kinds.catalog` asks `serves` once, when it makes the resources.
Source: k8s.io/apiserver ``server/resourceconfig``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from apiserver.meta.gvk import GroupVersion, GroupVersionResource

_STAGES = ("legacy", "ga", "beta", "alpha")
_VALUES = {"": True, "true": True, "1": True, "false": False, "0": False}
REQUIRED = GroupVersionResource("", "v1", "namespaces")
"""Every tenant has namespaces; nothing works without them."""


class RuntimeConfigError(ValueError):
    """A key that names nothing, or a value that is none."""


Switches = Mapping[tuple[str, str, str], bool]

_active: dict[tuple[str, str, str], bool] = {}


def parse(pairs: Iterable[str], served: Collection[GroupVersionResource]) -> Switches:
    """From ``key=value`` pairs; a key alone means true. (group, version, resource) → value, with
    "" for what a key leaves open and ("api", stage, "") for stages. ``served``: all that can be
    served. Raises RuntimeConfigError."""
    switches: dict[tuple[str, str, str], bool] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        if text.strip().lower() not in _VALUES:
            raise RuntimeConfigError(
                f"runtime-config invalid value {key}={text}: expected true or false"
            )
        switches[_key(key.strip(), served)] = _VALUES[text.strip().lower()]
    if not _serves(switches, REQUIRED):
        raise RuntimeConfigError("namespaces cannot be switched off")
    return switches


def _key(text: str, served: Collection[GroupVersionResource]) -> tuple[str, str, str]:
    parts = text.split("/")
    if parts[0] == "api" and len(parts) == 2 and parts[1] in ("all", "v1", *_STAGES):
        return ("", "v1", "") if parts[1] == "v1" else ("api", parts[1], "")
    versions = {(k.group, k.version) for k in served}
    if (parts[0], *parts[1:2]) not in versions:
        parts = ["", *parts]  # the core group
    group, version, resource = (*parts, "", "", "")[:3]
    if len(parts) > 3 or (group, version) not in versions:
        raise RuntimeConfigError(f"unknown api groups or versions: {text}")
    if resource and GroupVersionResource(group, version, resource) not in served:
        raise RuntimeConfigError(f"unknown resource: {text}")
    return group, version, resource


def activate(switches: Switches) -> None:
    """Before the catalog is made."""
    _active.clear()
    _active.update(switches)


def serves(resource: GroupVersionResource, default: bool = True) -> bool:
    """default: whether it is served when nobody says anything."""
    return _serves(_active, resource, default)


def _serves(switches: Switches, resource: GroupVersionResource, default: bool = True) -> bool:
    """The strongest switch decides."""
    gv = GroupVersion(resource.group, resource.version)
    candidates = [(*gv, resource.resource), (*gv, ""), ("api", _stage(gv), ""), ("api", "all", "")]
    return next((switches[c] for c in candidates if c in switches), default)


def _stage(gv: GroupVersion) -> str:
    if gv == GroupVersion("", "v1"):
        return "legacy"
    return "alpha" if "alpha" in gv.version else "beta" if "beta" in gv.version else "ga"
