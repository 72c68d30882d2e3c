"""RequestInfo: what a request is about, read once from its method and path (k8s.io/apiserver
``endpoints/request``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from apiserver.meta.fields import FieldSelectorError, parse_field_selector
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.names import path_segment

DEFAULT_TENANT = "default"
TENANCY_GROUP = "tenancy.polyplane.dev"
"""The API group of tenants themselves, served in the default tenant."""
TENANT_KEY = f"{TENANCY_GROUP}/tenant"
"""Names a tenant beside others' keys: in audit annotations, in users' extra, in tokens' claims."""
OWN_TENANTS = GroupResource(TENANCY_GROUP, "selftenantreviews")
GRANT_REVIEWS = GroupResource("authorization.polyplane.dev", "grantreviews")
_ADMISSION = "policies.polyplane.dev"
EXPRESSION_REVIEWS = GroupResource(_ADMISSION, "expressionreviews")
ADMISSION_USE_REVIEWS = GroupResource(_ADMISSION, "admissionusereviews")
DEPENDENT_REVIEWS = GroupResource("relations.polyplane.dev", "dependentreviews")
_SEARCH = "search.polyplane.dev"
OBJECT_SEARCHES = GroupResource(_SEARCH, "objectsearches")
OBJECT_COUNTS = GroupResource(_SEARCH, "objectcounts")
LASTING_SUBRESOURCES = frozenset({"attach", "exec", "proxy", "log", "portforward"})
"""Those whose requests last as long as their client likes."""
RETAINED_LOGS = GroupResource("history.polyplane.dev", "retainedlogs")


class RequestInfo(NamedTuple):
    """tenant: the one that the request names, "" where it names none; path: decoded, without the
    tenant prefix; verb: get, list, watch, create, update, patch, delete, deletecollection for
    resources, the lower-case HTTP method otherwise; namespace, name, subresource "" where there is
    none; family: what it has in common with those of all objects of a resource; scoped: whether the
    resource stands below a namespace, be its name empty; by_path: whether the path
    begins with the verb, as it did before 1.10: authorizers are not told the selectors of such a
    request."""

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
    by_path: bool = False
    scoped: bool = False

    @property
    def lasts(self) -> bool:
        """Whether it ends when its client likes (k8s.io/apiserver
        ``server/filters/longrunning.go``, with what kube-apiserver gives it)."""
        return self.verb in ("watch", "proxy") or self.subresource in LASTING_SUBRESOURCES

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
    """``raw_path``: as sent, percent-encoded, without the query: what an encoded slash divides is
    divided. ``watch``: the query asks for it.
    ``field_name``: the name that a ``metadata.name=`` field selector picks, which authorization of
    list and watch sees as the name."""
    if len(raw_path) + len(field_name) <= _SHORT:
        return _remembered(method, raw_path, watch, field_name)
    return _parse(method, raw_path, watch, field_name)


def _parse(method: str, raw_path: str, watch: bool, field_name: str) -> RequestInfo:
    tenant, path = split_tenant(raw_path)
    path = unquote(path)
    parts = path.strip("/").split("/")
    at = _VERSION_AT.get(parts[0], len(parts))
    rest = parts[at + 1 :]
    verb = _VERBS.get(method, "")
    by_path = bool(rest) and rest[0] in ("watch", "proxy")
    if by_path:
        verb, rest = rest[0], rest[1:]
    if not rest:
        verb = method.lower()
        return RequestInfo(tenant, path, method, False, verb, family=(verb,))
    namespace, rest, scoped = _namespaced(rest)
    name = rest[1] if len(rest) > 1 else ""
    if not name and verb == "get":
        verb, name = "watch" if watch else "list", field_name
    elif not name and verb == "delete":
        verb = "deletecollection"
    group, version = parts[1] if at == 2 else "", parts[at]
    resource = rest[0]
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
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
        (verb, group, version, resource, subresource, scoped, bool(namespace), bool(name), by_path),
        by_path=by_path,
        scoped=scoped,
    )


def _namespaced(parts: list[str]) -> tuple[str, list[str], bool]:
    """(namespace, the parts from the resource on, whether the resource is one below a
    namespace)."""
    if parts[0] != "namespaces" or len(parts) < 2:
        return "", parts, False
    inside = len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES
    return parts[1], parts[2:] if inside else parts, inside


_remembered = lru_cache(4096)(_parse)


def selected_name(query: Mapping[str, Sequence[str]]) -> str:
    """The name in a field selector that picks exactly one object, which authorization then sees as
    the request's name; "" for one that no object has, and where the selector is none. What is
    authorized is what is selected: both are read by the same parser."""
    for text in query.get("fieldSelector", ())[:1]:
        with suppress(FieldSelectorError):
            name = parse_field_selector(text).exact("metadata.name")
            return "" if name is None or path_segment(name) else name
    return ""
