"""Nobody grants more than they hold: the checks on writing roles and bindings (kubernetes
``pkg/registry/rbac/*/policybased``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from apiserver.authz.attributes import Attributes, Authorize
from apiserver.authz.coverage import MOST_PARTS, uncovered
from apiserver.authz.rbac import GROUP, Reader, UserRules, role_rules, rules_for
from apiserver.authz.rules import Rule, compact, compact_string, go_list
from apiserver.errors import Forbidden, NotFound, PlainError, aggregate
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import MASTERS, User

Run = Callable[[int, Callable[[], str]], Awaitable[str]]
"""Runs a comparison of rules with some such number of bytes, where that keeps nobody waiting."""

_FULL_AUTHORITY: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_MOST_TEXT = 256 * 1024
"""Characters of a refusal's list of what is missing."""
_VALUE = 16
"""Bytes of a value of a rule, about."""
_CUT = (
    f"... (at most {MOST_PARTS} combinations of groups, resources, verbs and names are "
    f"compared and told)"
)


async def _here(size: int, work: Callable[[], str]) -> str:
    return work()


def escalation_errors(
    user: User,
    held: Sequence[Rule],
    requested: Sequence[Rule],
    resolution_errors: Sequence[str] = (),
) -> str:
    """ "" when ``held`` covers ``requested``; otherwise why not, with every missing right on a line
    of its own, sorted. Bounded in time and in length: what cannot be compared within `MOST_PARTS`
    combinations is not covered."""
    missing = uncovered(held, requested)
    if missing.complete and not missing.parts:
        return ""
    lines = "\n".join(sorted({compact_string(rule) for rule in compact(missing.parts)}))
    if not missing.complete or len(lines) > _MOST_TEXT:
        lines = f"{lines[:_MOST_TEXT].rpartition(chr(10))[0]}\n{_CUT}".lstrip()
    text = (
        f"user {go_quote(user.name)} (groups={go_list(user.groups)}) is attempting to "
        f"grant RBAC permissions not currently held:\n{lines}"
    )
    return (
        f"{text}; resolution errors: [{aggregate(list(resolution_errors))}]"
        if resolution_errors
        else text
    )


async def check_role(
    request: Attributes,
    role: Object,
    old: Object | None,
    reader: Reader,
    authorize: Authorize,
    run: Run = _here,
) -> None:
    """On create and update of a Role or ClusterRole; ``request``: the write as it was authorized.
    Raises Forbidden.

    Free: system:masters, holders of the verb ``escalate``, and updates that only touch what garbage
    collection needs."""
    if (
        MASTERS in request.user.groups
        or (await authorize(request._replace(verb="escalate"))).allowed
    ):
        return
    if old is not None and only_garbage_collection_changed(role, old):
        return
    name = role["metadata"].get("name", "")
    held = await _held(request, reader)
    why = await _missing(request.user, held, role.get("rules") or [], run)
    aggregates = _aggregates(role) or (old is not None and _aggregates(old))
    if not why and aggregates and await _missing(request.user, held, _FULL_AUTHORITY, run):
        why = "must have cluster-admin privileges to use the aggregationRule"
    if why:
        raise Forbidden(GroupResource(request.group, request.resource), name, why)


async def check_binding(
    request: Attributes,
    binding: Object,
    old: Object | None,
    reader: Reader,
    authorize: Authorize,
    run: Run = _here,
) -> None:
    """On create and update of a RoleBinding or ClusterRoleBinding. Raises Forbidden, or NotFound
    for a role that does not exist.

    Free: system:masters, holders of the verb ``bind`` on the role, and updates that only touch what
    garbage collection needs."""
    if MASTERS in request.user.groups:
        return
    if old is not None and only_garbage_collection_changed(binding, old):
        return
    role_ref = binding["roleRef"]
    if await _may_bind(request, role_ref, authorize):
        return
    given = await role_rules(role_ref, request.namespace, reader)
    resource = GroupResource(request.group, request.resource)
    if given.error:
        if role_ref.get("kind") in ("Role", "ClusterRole"):
            raise NotFound(resource, role_ref.get("name", ""))
        raise PlainError(given.error)
    held = await _held(request, reader)
    why = await _missing(request.user, held, given.rules, run)
    if why:
        raise Forbidden(resource, binding["metadata"].get("name", ""), why)


async def _held(request: Attributes, reader: Reader) -> UserRules:
    """What the user holds. Storage that finds no role calls it what the request is about
    (``qualifiedResourceFromContext``)."""
    resource = GroupResource(request.group, request.resource)
    return await rules_for(request.user, request.namespace, reader, missing=str(resource))


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


async def _missing(user: User, held: UserRules, requested: Sequence[Rule], run: Run) -> str:
    values = sum(
        len(texts)
        for rules in (held.rules, requested)
        for rule in rules
        for texts in rule.values()
        if texts
    )
    return await run(
        values * _VALUE, lambda: escalation_errors(user, held.rules, requested, held.errors)
    )


def _aggregates(role: Object) -> bool:
    rule = role.get("aggregationRule")
    return rule is not None and len(rule.get("clusterRoleSelectors") or ()) > 0


_COLLECTED = ("ownerReferences", "finalizers", "managedFields", "selfLink")


def only_garbage_collection_changed(obj: Object, old: Object) -> bool:
    """Whether at most owner references, finalizers and managed fields differ (kubernetes
    IsOnlyMutatingGCFields).

    All else must be as it is stored, resourceVersion, uid and creationTimestamp too, as after a
    patch or a read; empty is absent."""
    return bool(_rest(obj) == _rest(old))


def _rest(obj: Object) -> Any:
    return _without_empty(
        {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k not in _COLLECTED}}
    )


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_empty(v) for k, v in value.items() if v not in (None, [], {})}
    return [_without_empty(v) for v in value] if isinstance(value, list) else value
