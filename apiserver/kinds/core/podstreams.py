"""pods/log, exec, attach and portforward, as far as the API server answers them itself: options and the choice of a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.errors import BadRequest
from apiserver.fielderrors import FieldErrors, forbidden, invalid, not_supported, required
from apiserver.kinds.common import checks

Object = dict[str, Any]

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_STREAMS = ["All", "Stderr", "Stdout"]
_POSITIVE = "must be greater than 0"


def log_errors(options: Mapping[str, Any]) -> FieldErrors:
    """What is wrong with PodLogOptions, given as a JSON object with numbers (ValidatePodLogOptions); raise it as ``PodLogOptions``."""
    return list(_log_errors(options))


def _log_errors(options: Mapping[str, Any]) -> checks.Errors:
    lines, limit, seconds = options.get("tailLines"), options.get("limitBytes"), options.get("sinceSeconds")
    if lines is not None and lines < 0:
        yield invalid("tailLines", lines, "must be greater than or equal to 0")
    if limit is not None and limit < 1:
        yield invalid("limitBytes", limit, _POSITIVE)
    if seconds is not None and options.get("sinceTime"):
        yield forbidden(checks.NOWHERE, "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif seconds is not None and seconds < 1:
        yield invalid("sinceSeconds", seconds, _POSITIVE)
    stream = options.get("stream", "All")
    if stream not in _STREAMS:
        yield not_supported("stream", stream, _STREAMS)
    if stream != "All" and lines is not None:
        yield forbidden(checks.NOWHERE, "`tailLines` and specific `stream` are mutually exclusive for now")


def exec_errors(options: Mapping[str, Any]) -> FieldErrors:
    """What is wrong with PodExecOptions once the pod runs on a node."""
    return [] if options.get("command") else [required("command")]


def container_of(pod: Object, wanted: str = "") -> str:
    """Name of the container that a request means; without a name the pod's only one. Raises BadRequest."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    if wanted:
        if not any(wanted in _names(spec.get(field)) for field in _CONTAINERS):
            raise BadRequest(f"container {wanted} is not valid for pod {name}")
        return wanted
    names, initial = _names(spec.get("containers")), _names(spec.get("initContainers"))
    if len(names) == 1:
        return names[0]
    text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
    if initial:
        text += f" or one of the init containers: [{' '.join(initial)}]"
    raise BadRequest(text)


def node_of(pod: Object) -> str:
    """Name of the node that serves exec, attach and portforward. Raises BadRequest for a pod without one."""
    node = str(pod["spec"].get("nodeName") or "")
    if not node:
        raise BadRequest(f"pod {pod['metadata']['name']} does not have a host assigned")
    return node


def _names(containers: Sequence[Mapping[str, Any]] | None) -> list[str]:
    return [c["name"] for c in containers or ()]
