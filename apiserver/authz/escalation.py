"""Nobody grants more than they hold: the checks on writing roles and bindings (kubernetes ``pkg/registry/rbac/*/policybased``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.authz.attributes import Attributes, Authorize
from apiserver.authz.rbac import GROUP, Reader, role_rules, rules_for
from apiserver.authz.rules import Rule, compact, compact_string, go_list, uncovered
from apiserver.errors import Forbidden, NotFound, PlainError, aggregate
from apiserver.fielderrors import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.user import MASTERS, User

Object = dict[str, Any]

_FULL_AUTHORITY: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]


def escalation_errors(user: User, held: Sequence[Rule], wanted: Sequence[Rule], resolution_errors: Sequence[str] = ()) -> str:
    """ "" when ``held`` covers ``wanted``; otherwise why not, with every missing right on a line of its own, sorted."""
    missing = uncovered(held, wanted)
    if not missing:
        return ""
    lines = sorted({compact_string(rule) for rule in compact(missing)})
    text = (
        f"user {go_quote(user.name)} (groups={go_list(user.groups)}) is attempting to grant RBAC permissions not currently held:\n"
        + "\n".join(lines)
    )
    return f"{text}; resolution errors: [{aggregate(list(resolution_errors))}]" if resolution_errors else text


async def check_role(request: Attributes, role: Object, old: Object | None, reader: Reader, authorize: Authorize) -> None:
    """On create and update of a Role or ClusterRole; ``request``: the write as it was authorized. Raises Forbidden.

    Free: system:masters, holders of the verb ``escalate``, and updates that only touch what garbage collection needs."""
    if MASTERS in request.user.groups or (await authorize(request._replace(verb="escalate"))).allowed:
        return
    if old is not None and only_garbage_collection_changed(role, old):
        return
    name = role["metadata"].get("name", "")
    why = await _missing(request, role.get("rules") or [], reader)
    if not why and (_aggregates(role) or (old is not None and _aggregates(old))) and await _missing(request, _FULL_AUTHORITY, reader):
        why = "must have cluster-admin privileges to use an aggregationRule"
    if why:
        raise Forbidden(GroupResource(request.group, request.resource), name, why)


async def check_binding(request: Attributes, binding: Object, old: Object | None, reader: Reader, authorize: Authorize) -> None:
    """On create and update of a RoleBinding or ClusterRoleBinding. Raises Forbidden, or NotFound for a role that does not exist.

    Free: system:masters, holders of the verb ``bind`` on the role, and updates that only touch what garbage collection needs."""
    if MASTERS in request.user.groups:
        return
    if old is not None and only_garbage_collection_changed(binding, old):
        return
    role_ref = binding["roleRef"]
    if await _may_bind(request, role_ref, authorize):
        return
    found = await role_rules(role_ref, request.namespace, reader)
    resource = GroupResource(request.group, request.resource)
    if found.error:
        if role_ref.get("kind") in ("Role", "ClusterRole"):
            raise NotFound(resource, role_ref.get("name", ""))
        raise PlainError(found.error)
    why = await _missing(request, found.rules, reader)
    if why:
        raise Forbidden(resource, binding["metadata"].get("name", ""), why)


async def _may_bind(request: Attributes, role_ref: Object, authorize: Authorize) -> bool:
    resource = {"Role": "roles", "ClusterRole": "clusterroles"}.get(role_ref.get("kind", ""))
    if resource is None:
        return False
    question = Attributes(
        request.user,
        "bind",
        group=role_ref.get("apiGroup") or GROUP,
        version="*",
        resource=resource,
        namespace=request.namespace,
        name=role_ref.get("name", ""),
    )
    return (await authorize(question)).allowed


async def _missing(request: Attributes, wanted: Sequence[Rule], reader: Reader) -> str:
    held = await rules_for(request.user, request.namespace, reader)
    return escalation_errors(request.user, held.rules, wanted, held.errors)


def _aggregates(role: Object) -> bool:
    rule = role.get("aggregationRule")
    return rule is not None and len(rule.get("clusterRoleSelectors") or ()) > 0


def only_garbage_collection_changed(obj: Object, old: Object) -> bool:
    """Whether at most owner references, finalizers and managed fields differ (kubernetes IsOnlyMutatingGCFields)."""

    def rest(o: Object) -> Object:
        metadata = {
            k: v for k, v in o["metadata"].items() if k not in ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
        }
        return {**o, "metadata": metadata}

    return rest(obj) == rest(old)
