"""pods/log, exec, attach and portforward, as far as the API server answers them itself: options and
the choice of a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.errors import BadRequest, PlainError
from apiserver.fielderrors import FieldErrors, forbidden, invalid
from apiserver.golang.strconv import NumError, parse_uint
from apiserver.golang.time import RFC3339, TimeError, parse
from apiserver.kinds.common import checks
from apiserver.kinds.common.visit import containers
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object

_HIGHEST_PORT = 65535
_REACHABLE = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_POSITIVE = "must be greater than 0"


def log_errors(options: Mapping[str, Any]) -> FieldErrors:
    """What is wrong with PodLogOptions, given as a JSON object with numbers
    (ValidatePodLogOptions); raise it as ``PodLogOptions``."""
    return list(_log_errors(options))


def _log_errors(options: Mapping[str, Any]) -> checks.Errors:
    lines, limit, seconds = (
        options.get("tailLines"),
        options.get("limitBytes"),
        options.get("sinceSeconds"),
    )
    if lines is not None and lines < 0:
        yield invalid("tailLines", lines, "must be greater than or equal to 0")
    if limit is not None and limit < 1:
        yield invalid("limitBytes", limit, _POSITIVE)
    if seconds is not None and options.get("sinceTime"):
        yield forbidden(
            checks.NOWHERE, "at most one of `sinceTime` or `sinceSeconds` may be specified"
        )
    elif seconds is not None and seconds < 1:
        yield invalid("sinceSeconds", seconds, _POSITIVE)
    if "stream" in options:
        # the gate PodLogsQuerySplitStreams is off
        yield forbidden("stream", "may not be specified")


def since(text: str) -> str:
    """A time in a query, "" and "null" for none. Raises BadRequest."""
    if text in ("", "null"):
        return ""
    try:
        parse(text, RFC3339)
    except TimeError as e:
        raise BadRequest(str(e)) from None
    return text


_ATTACHED = ("stdin", "stdout", "stderr", "tty")
"""What is not asked for is not attached, whatever the documentation of stdout and stderr says."""


def container_of(pod: Object, asked: str = "") -> str:
    """Name of the container that a request means; without a name the pod's only one. Raises
    BadRequest."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    known = [container["name"] for container in containers(spec)]
    if asked:
        if asked not in known:
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    main = [str(container["name"]) for container in containers(spec, "containers")]
    if len(main) == 1:
        return main[0]
    raise BadRequest(
        f"a container name must be specified for pod {name}, choose one of: [{' '.join(known)}]"
    )


def options_object(
    kind: GroupVersionKind, query: Mapping[str, Sequence[str]], path: Sequence[str]
) -> Object:
    """What a client that connects asks for, as the kind of options that the subresource has.
    ``path``: below the subresource. Raises BadRequest."""
    options: Object = {"kind": kind.kind, "apiVersion": kind.api_version}
    if kind.kind in ("PodExecOptions", "PodAttachOptions"):
        options |= {name: True for name in _ATTACHED if _is_true(query.get(name))}
        if query.get("container"):
            options["container"] = query["container"][0]
        if kind.kind == "PodExecOptions" and query.get("command"):
            options["command"] = list(query["command"])
    elif kind.kind == "PodPortForwardOptions":
        if query.get("ports"):
            options["ports"] = [_port(text) for text in query["ports"]]
    elif path:
        options["path"] = "/".join(path)
    return options


def _is_true(values: Sequence[str] | None) -> bool:
    return values is not None and values[0].lower() not in ("0", "false")


def _port(text: str) -> int:
    try:
        return parse_uint(text, _HIGHEST_PORT)
    except NumError as error:
        raise BadRequest(f"cannot convert to []int32: {error}") from None


def node_of(pod: Object) -> str:
    """Name of the node that serves exec, attach and portforward. Raises BadRequest for a pod
    without one."""
    node = str(pod["spec"].get("nodeName") or "")
    if not node:
        raise BadRequest(f"pod {pod['metadata']['name']} does not have a host assigned")
    return node


def unreachable(node: Object) -> PlainError:
    """Why nobody reaches the node's kubelet: it has no address that could be tried
    (GetPreferredNodeAddress), or this server, which connects to no kubelet, has not tried it."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    if any(a.get("type") in _REACHABLE for a in addresses):
        return PlainError("error dialing backend: this server connects to no kubelet")
    known = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in addresses)
    return PlainError(f"no preferred addresses found; known addresses: [{known}]")
