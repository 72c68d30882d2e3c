"""What metrics say of a request, in kube-apiserver's words (k8s.io/apiserver
``endpoints/metrics/metrics.go``, and what ``endpoints/installer.go`` tells it of each route): asked
once for all requests of a kind."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.endpoints.metric_types import Labels
from apiserver.endpoints.request import ApiRequest
from apiserver.request import LASTING_SUBRESOURCES, RequestInfo

NAMES = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_COMPONENT = "apiserver"
_VERBS = {"create": "POST", "update": "PUT", "deletecollection": "DELETE", "head": "GET"}
_KNOWN_VERBS = frozenset(
    {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "CONNECT", "PROXY"}
)
_DOCUMENTS = {
    **{path: (path, "") for path in ("/livez", "/readyz", "/healthz")},
    "/openapi/v3": ("openapi/v3", ""),
    "/api": ("api", _COMPONENT),
    "/apis": ("apis", _COMPONENT),
}
_GROUP_DOCUMENTS = "/openapi/v3/"


def labels(request: ApiRequest, *, applies: bool, named: bool = False) -> Labels:
    """Values of `NAMES`. ``applies``: a patch is an apply; ``named``: a name that a field selector
    picks counts as that of the request, as it does while it lasts."""
    info = request.info
    verb = "APPLY" if applies else _VERBS.get(info.verb, info.verb.upper())
    verb = verb if verb in _KNOWN_VERBS else "other"
    if not info.is_resource or request.served is None:
        subresource, component = document(info)
        return verb, "", "", "", subresource, "", component
    if info.subresource in LASTING_SUBRESOURCES:
        verb = "CONNECT"
    by_path = len(info.parts) > 1
    what = info.group, info.version, info.resource, info.subresource
    scope = _scope(info, by_path or info.verb == "create" or (named and bool(info.name)))
    return verb, *what, scope, _COMPONENT


def document(info: RequestInfo) -> tuple[str, str]:
    """(subresource, component) of what is no object."""
    if info.path.startswith(_GROUP_DOCUMENTS):
        return _GROUP_DOCUMENTS[1:], ""
    return _DOCUMENTS.get(info.path, ("", _COMPONENT))


def unnamed(labels: Labels) -> Labels:
    """In the place of labels for which there is no room."""
    return labels[0], "", "", "", "", "", _COMPONENT


def dry_run(values: Sequence[str] | None) -> str:
    """``values``: of the parameter."""
    if not values:
        return ""
    return "All" if all(value == "All" for value in values) else "invalid"


def watch_list_labels(info: RequestInfo, namespace: str) -> Labels:
    """group, version, resource, scope. ``namespace``: the one that a field selector picks."""
    scope = _scope(info, bool(info.name), namespace)
    return info.group, info.version, info.resource, scope


def _scope(info: RequestInfo, named: bool, namespace: str = "") -> str:
    if named:
        return "resource"
    return "namespace" if info.namespace or namespace else "cluster"
