"""Whether the user may do what the request asks for."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from time import perf_counter

from apiserver.audit.replay import annotate
from apiserver.audit.trail import VERB
from apiserver.authorizers import counts
from apiserver.authz.attributes import Attributes, Decision, forbidden
from apiserver.authz.node import PREFIX
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import Forbidden, PlainError
from apiserver.golang.strconv import go_quote
from apiserver.meta.fields import FieldSelectorError, parse_field_selector
from apiserver.meta.labels import LabelSelectorError, parse_label_selector
from apiserver.registry.scope import NO_TENANT, Tenant
from apiserver.user import User


def attributes_of(request: ApiRequest, user: User) -> Attributes:
    """What the request asks for, were ``user`` to ask for it."""
    info = request.info
    return Attributes(  # by position: names take twice as long, and every request comes by
        user,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name,
        info.path,
        info.is_resource,
    )


_SELECTING = frozenset({"list", "watch", "deletecollection"})


def _limited(request: ApiRequest, attributes: Attributes) -> Attributes:
    """With what a list is limited to. What cannot be read does not limit it; the view says so."""
    query = request.query
    if attributes.verb not in _SELECTING or not attributes.is_resource or not query:
        return attributes
    if request.info.by_path:
        return attributes
    if fields := query.get("fieldSelector"):
        with suppress(FieldSelectorError):
            requirements = parse_field_selector(fields[0]).requirements
            attributes = attributes._replace(field_requirements=requirements)
    if labels := query.get("labelSelector"):
        with suppress(LabelSelectorError):
            terms = parse_label_selector(labels[0]).requirements
            attributes = attributes._replace(label_requirements=terms)
    return attributes


ALWAYS_ALLOWED = frozenset({"/healthz", "/livez", "/readyz"})
"""Probes work whatever RBAC says (kube-apiserver's --authorization-always-allow-paths)."""


_PUBLIC = ALWAYS_ALLOWED | {"/version", "/version/"}
"""What system:public-info-viewer lets everybody read."""


async def decide(server: Server, tenant: Tenant, attributes: Attributes) -> Decision:
    """By the tenant's RBAC; outside of all tenants by what RBAC allows to everybody in a tenant
    that nobody has changed."""
    if tenant == NO_TENANT:
        return Decision(
            not attributes.is_resource and attributes.verb == "get" and attributes.path in _PUBLIC
        )
    return await server.authorizer.authorize(tenant, attributes)


async def authorize(server: Server, request: ApiRequest, attributes: Attributes) -> None:
    """``attributes``: what the request asks for as its user. Raises Forbidden."""
    if attributes.path not in ALWAYS_ALLOWED:
        began = perf_counter()
        try:
            await ask(server, request, attributes)
        finally:
            if request.decision is not None:
                _count(request.decision, perf_counter() - began)
    request.authorized = True


def _count(decision: Decision, seconds: float) -> None:
    """Here, and not beside what it counts in: every request comes by."""
    why_not = "error" if decision.error else "denied" if decision.denied else "no-opinion"
    key = ("allowed" if decision.allowed else why_not,)
    counts.ATTEMPTS[key] = counts.ATTEMPTS.get(key, 0) + 1
    observe(counts.ATTEMPT_DURATIONS, key, seconds)


def observe(
    durations: dict[tuple[str, ...], list[float]], key: tuple[str, ...], seconds: float
) -> None:
    """durations: by labels, a number for each of `counts.DOUBLING`, what was above, and the sum."""
    cell = durations.get(key)
    if cell is None:
        cell = durations[key] = [0.0] * (len(counts.DOUBLING) + 2)
    cell[bisect_left(counts.DOUBLING, seconds)] += 1
    cell[-1] += seconds


async def authorize_create(server: Server, request: ApiRequest) -> None:
    """The second question of a PUT or an apply that finds nothing to change. Raises Forbidden."""
    _note_verb(request, "create")
    await ask(server, request, attributes_of(request, request.user)._replace(verb="create"))


def _note_verb(request: ApiRequest, verb: str) -> None:
    """What is decided next is not about the request's own verb."""
    if request.trail is not None:
        request.trail.annotations[VERB] = verb


UNSAFE = "unsafe-delete-ignore-read-errors"
UNSAFE_NOTE = "apiserver.k8s.io/unsafe-delete-ignore-read-error"
"""Annotation of audit entries."""


async def authorize_unsafe(server: Server, request: ApiRequest) -> None:
    """The second question of a DELETE with ignoreStoreReadErrorWithClusterBreakingPotential. Raises
    Forbidden."""
    if request.trail is not None:
        request.trail.annotate(UNSAFE_NOTE, "")
    decision = await _decide_as(server, request, UNSAFE)
    if not decision.allowed:
        raise Forbidden(
            request.info.group_resource,
            request.info.name,
            f'not permitted to do "{UNSAFE}", reason: {decision.reason}',
        )


async def authorize_streams(server: Server, request: ApiRequest) -> None:
    """The second question of a GET of exec, attach or portforward: it does what a POST does, and so
    asks for the right to create (kubernetes ``registry/core/pod/rest/authorize.go``). Raises
    Forbidden."""
    if request.info.verb == "create":
        return
    decision = await _decide_as(server, request, "create")
    if not decision.allowed:
        raise Forbidden(request.info.group_resource, request.info.name, decision.reason)


async def _decide_as(server: Server, request: ApiRequest, verb: str) -> Decision:
    decision = await server.authorizer.authorize(
        request.tenant, attributes_of(request, request.user)._replace(verb=verb)
    )
    _note_verb(request, verb)
    if request.trail is not None:
        annotate(request.trail.annotations, decision)
    return decision


async def ask(server: Server, request: ApiRequest, attributes: Attributes) -> None:
    if server.tells_selectors() or attributes.user.name.startswith(PREFIX):
        attributes = _limited(request, attributes)
    decision = request.decision = await decide(server, request.tenant, attributes)
    if request.trail is not None:
        annotate(request.trail.annotations, decision)
    if not decision.allowed:
        if decision.error:
            raise PlainError(f"Internal Server Error: {go_quote(request.path)}: {decision.error}")
        raise forbidden(attributes, decision.reason)
