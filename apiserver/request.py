"""RequestInfo: what a request is about, read once from its method and path (k8s.io/apiserver ``endpoints/request``)."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from apiserver.meta.gvk import GroupResource, GroupVersion

DEFAULT_TENANT = "default"


class RequestInfo(NamedTuple):
    """tenant: its name; path: without the tenant prefix; verb: get, list, watch, create, update, patch, delete, deletecollection
    for resources, the lower-case HTTP method otherwise; namespace, name, subresource "" where there is none."""

    tenant: str
    path: str
    method: str
    is_resource: bool
    verb: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


def split_tenant(path: str) -> tuple[str, str]:
    """(tenant, rest of the path) of ``/clusters/<tenant>/...``; any other path belongs to the default tenant."""
    if path.startswith("/clusters/"):
        tenant, slash, rest = path[10:].partition("/")
        if tenant:
            return unquote(tenant), "/" + rest if slash else "/"
    return DEFAULT_TENANT, path


def parse_request(method: str, raw_path: str, *, watch: bool = False, field_name: str = "") -> RequestInfo:
    """``raw_path``: as sent, percent-encoded, without the query. ``watch``: the query asks for it. ``field_name``: the name that a
    ``metadata.name=`` field selector picks, which authorization of list, watch and deletecollection sees as the name."""
    tenant, path = split_tenant(raw_path)
    bare = path.strip("/")
    parts = bare.split("/") if bare else []
    if "%" in bare:
        parts = [unquote(p) for p in parts]
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return RequestInfo(tenant, path, method, False, method.lower())
    prefix, rest = parts[0], parts[1:]
    group = ""
    if prefix == "apis":
        if len(rest) < 3:
            return RequestInfo(tenant, path, method, False, method.lower())
        group, rest = rest[0], rest[1:]
    version, rest = rest[0], rest[1:]
    verb = _VERBS.get(method, "")
    if rest[0] in ("watch", "proxy"):
        if len(rest) < 2:
            return RequestInfo(tenant, path, method, False, method.lower())
        verb = rest[0]
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if not name and verb == "get":
        verb = "watch" if watch else "list"
        name = field_name
    elif not name and verb == "delete":
        verb, name = "deletecollection", field_name
    elif verb == "watch":
        name = name or field_name
    return RequestInfo(tenant, path, method, True, verb, prefix, group, version, resource, subresource, namespace, name, tuple(rest))
