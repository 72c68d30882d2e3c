"""What an authorizer is asked, what it answers, and how a refusal reads.

Sources: k8s.io/apiserver ``authorization/authorizer`` (Attributes, Decision) and
``endpoints/handlers/responsewriters`` (texts).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from apiserver.errors import Forbidden
from apiserver.golang.strconv import go_quote
from apiserver.meta.fields import FieldRequirement
from apiserver.meta.gvk import GroupResource
from apiserver.meta.labels import Requirement
from apiserver.meta.objects import Object
from apiserver.user import User

READING = frozenset({"get", "list", "watch"})
WRITING = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Attributes(NamedTuple):
    """One question. is_resource: whether group ... name count, or else ``path``; version "*" for
    any.

    label_requirements, field_requirements: what a list, watch or deletecollection is limited to,
    for authorizers that look at it."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True
    label_requirements: tuple[Requirement, ...] = ()
    field_requirements: tuple[FieldRequirement, ...] = ()

    @property
    def full_resource(self) -> str:
        """``pods`` or ``pods/log``, as rules and messages name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Grant(NamedTuple):
    """What RBAC allows something by. namespace: the binding's, "" for a ClusterRoleBinding;
    subject: which of the binding's the user is; at: the place of the rule in its role, from 0."""

    binding: Object
    subject: Object
    namespace: str
    rule: Object
    at: int


class Decision(NamedTuple):
    """reason: why it is allowed, or what went wrong on the way to a refusal; often "". denied:
    refused for good, whoever else is asked; error: what kept an authorizer from deciding; grant:
    where RBAC has allowed it; authorizer: the name of the one that decided, "" where none did."""

    allowed: bool
    reason: str = ""
    denied: bool = False
    error: str = ""
    grant: Grant | None = None
    authorizer: str = ""


Authorize = Callable[[Attributes], Awaitable[Decision]]

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden_message(attributes: Attributes) -> str:
    """``User "x" cannot list resource "pods" in API group "" in the namespace "y"``, escaped as
    HTML would need."""
    user, verb = go_quote(attributes.user.name), attributes.verb
    if not attributes.is_resource:
        text = f"User {user} cannot {verb} path {go_quote(attributes.path)}"
    else:
        scope = (
            f"in the namespace {go_quote(attributes.namespace)}"
            if attributes.namespace
            else "at the cluster scope"
        )
        resource, group = go_quote(attributes.full_resource), go_quote(attributes.group)
        text = f"User {user} cannot {verb} resource {resource} in API group {group} {scope}"
    return text.translate(_HTML)


def forbidden(attributes: Attributes, reason: str = "") -> Forbidden:
    """The 403 for a refused question; ``reason`` is the authorizer's."""
    message = forbidden_message(attributes)
    why = f"{message}: {reason}" if reason else message
    return Forbidden(GroupResource(attributes.group, attributes.resource), attributes.name, why)
