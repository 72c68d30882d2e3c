"""RequestInfo: what a request is about, read once from its method and path (k8s.io/apiserver
``endpoints/request``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from apiserver.meta.gvk import GroupResource, GroupVersion

DEFAULT_TENANT = "default"
TENANCY_GROUP = "tenancy.polyplane.dev"
"""The API group of tenants themselves, served in the default tenant."""
OWN_TENANTS = GroupResource(TENANCY_GROUP, "selftenantreviews")
GRANT_REVIEWS = GroupResource("authorization.polyplane.dev", "grantreviews")
_ADMISSION = "policies.polyplane.dev"
EXPRESSION_REVIEWS = GroupResource(_ADMISSION, "expressionreviews")
ADMISSION_USE_REVIEWS = GroupResource(_ADMISSION, "admissionusereviews")
DEPENDENT_REVIEWS = GroupResource("relations.polyplane.dev", "dependentreviews")
_SEARCH = "search.polyplane.dev"
OBJECT_SEARCHES = GroupResource(_SEARCH, "objectsearches")
OBJECT_COUNTS = GroupResource(_SEARCH, "objectcounts")
RETAINED_LOGS = GroupResource("history.polyplane.dev", "retainedlogs")


class RequestInfo(NamedTuple):
    """tenant: the one that the request names, "" where it names none; path: without the tenant
    prefix; verb: get, list, watch, create, update, patch, delete, deletecollection for resources,
    the lower-case HTTP method otherwise; namespace, name, subresource "" where there is none;
    family: what it has in common with those of all objects of a resource."""

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
    family: tuple[object, ...] = ()

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_OF_COLLECTIONS = {"get": "list", "delete": "deletecollection", "watch": "watch"}
"""What a verb is called where no object is named."""
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_VERSION_AT = {"api": 1, "apis": 2}
"""Which segment of the path is the version; at least one more follows it."""


def split_tenant(path: str) -> tuple[str, str]:
    """(tenant, rest of the path) of ``/clusters/<tenant>/...``; any other path names none: ""."""
    if path.startswith("/clusters/"):
        tenant, slash, rest = path[10:].partition("/")
        if tenant:
            return unquote(tenant), "/" + rest if slash else "/"
    return "", path


_SHORT = 256
"""Characters of a path whose meaning is remembered: clients ask for the same ones again and
again."""


def parse_request(
    method: str, raw_path: str, *, watch: bool = False, field_name: str = ""
) -> RequestInfo:
    """``raw_path``: as sent, percent-encoded, without the query. ``watch``: the query asks for it.
    ``field_name``: the name that a ``metadata.name=`` field selector picks, which authorization of
    list, watch and deletecollection sees as the name."""
    if len(raw_path) + len(field_name) <= _SHORT:
        return _remembered(method, raw_path, watch, field_name)
    return _parse(method, raw_path, watch, field_name)


def _parse(method: str, raw_path: str, watch: bool, field_name: str) -> RequestInfo:
    tenant, path = split_tenant(raw_path)
    parts = path.strip("/").split("/")
    if "%" in path:
        parts = [unquote(p) for p in parts]
    at = _VERSION_AT.get(parts[0], len(parts))
    rest = parts[at + 1 :]
    verb = _VERBS.get(method, "")
    if rest and rest[0] in ("watch", "proxy"):
        verb, rest = rest[0], rest[1:]
    if not rest:
        verb = method.lower()
        return RequestInfo(tenant, path, method, False, verb, family=(verb,))
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    if not name and verb in _OF_COLLECTIONS:
        verb, name = "watch" if watch and verb == "get" else _OF_COLLECTIONS[verb], field_name
    group, version = parts[1] if at == 2 else "", parts[at]
    resource, subresource = rest[0], rest[2] if len(rest) > 2 else ""
    return RequestInfo(
        tenant,
        path,
        method,
        True,
        verb,
        parts[0],
        group,
        version,
        resource,
        subresource,
        namespace,
        name,
        tuple(rest),
        (verb, group, version, resource, subresource, bool(namespace), bool(name)),
    )


_remembered = lru_cache(4096)(_parse)


def selected_name(query: Mapping[str, Sequence[str]]) -> str:
    """The name in a field selector that picks exactly one object, which authorization then sees as
    the request's name."""
    for selector in query.get("fieldSelector", ())[:1]:
        for term in selector.split(","):
            name, sign, value = term.partition("=")
            if sign and name == "metadata.name" and not name.endswith("!"):
                return value.removeprefix("=")
    return ""
