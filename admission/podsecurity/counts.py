"""What this process has counted of Pod Security, under kube-apiserver's names
(k8s.io/pod-security-admission ``metrics``); `apiserver.endpoints.security_metrics` shows it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from admission.attributes import Attributes
from admission.objects import PODS
from admission.podsecurity.evaluate import NEWEST
from admission.podsecurity.policy import Level, LevelVersion

Counts = dict[tuple[str, ...], float]
Decision = Literal["allow", "deny"]


class About(NamedTuple):
    """What a request is about: a pod, or a controller, which is whatever makes pods."""

    operation: str
    resource: str
    subresource: str = ""


EVALUATIONS: Counts = {
    ("allow", "privileged", "latest", "enforce", operation, "pod", ""): 0
    for operation in ("create", "update")
}
"""pod_security_evaluations_total, by decision, level, version and mode, and `About`."""
EXEMPTIONS: Counts = {
    (operation, resource, ""): 0
    for operation in ("create", "update")
    for resource in ("pod", "controller")
}
"""pod_security_exemptions_total, by `About`."""
ERRORS: Counts = {}
"""pod_security_errors_total, by whether nothing could be evaluated, and `About`."""
_MOST = 1_000
"""Series of evaluations: tenants choose versions. One too many counts without its version."""


def about(attributes: Attributes) -> About:
    resource = "pod" if attributes.group_resource == PODS else "controller"
    return About(attributes.operation.lower(), resource, attributes.subresource)


def evaluated(decision: Decision, level: LevelVersion, mode: str, of: About) -> None:
    key = (decision, level.level.text, _version(level), mode, *of)
    if key not in EVALUATIONS and len(EVALUATIONS) >= _MOST:
        key = (decision, level.level.text, "", mode, *of)
    _add(EVALUATIONS, key)


def exempted(of: About) -> None:
    _add(EXEMPTIONS, of)


def failed(of: About, *, fatal: bool) -> None:
    """fatal: nothing could be evaluated; otherwise the labels of a namespace were wrong."""
    _add(ERRORS, ("true" if fatal else "false", *of))


def _version(level: LevelVersion) -> str:
    if level.minor is None or level.level == Level.PRIVILEGED:
        return "latest"
    return f"v1.{level.minor}" if level.minor <= NEWEST else "future"


def _add(counts: Counts, key: tuple[str, ...]) -> None:
    counts[key] = counts.get(key, 0) + 1
