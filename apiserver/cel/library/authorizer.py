"""The authorizer of admission expressions (k8s.io/apiserver ``pkg/cel/library/authz.go``).

The caller supplies the decision as a `Authorize` function; nothing here knows users or rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from apiserver.cel.decls import functions, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.types import Type, struct_type
from apiserver.meta.names import dns1123_label, dns1123_subdomain

_PREFIX = "kubernetes.authorization."
AUTHORIZER_TYPE: Final = struct_type(_PREFIX + "Authorizer")
PATH_CHECK_TYPE: Final = struct_type(_PREFIX + "PathCheck")
GROUP_CHECK_TYPE: Final = struct_type(_PREFIX + "GroupCheck")
RESOURCE_CHECK_TYPE: Final = struct_type(_PREFIX + "ResourceCheck")
DECISION_TYPE: Final = struct_type(_PREFIX + "Decision")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. service_account: (namespace, name) when the question is about one, None for
    the requesting user.

    Of a resource: group, resource, subresource, namespace, name, and selectors as written; of a
    path: path (resource is "")."""

    verb: str
    service_account: tuple[str, str] | None = None
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """error "" when there was none."""

    allowed: bool
    reason: str = ""
    error: str = ""
    cel_type: ClassVar[Type] = DECISION_TYPE
    cel_unit_equality: ClassVar[bool] = True


Authorize = Callable[[Question], Decision]


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Value of the variable ``authorizer``."""

    authorize: Authorize
    service_account: tuple[str, str] | None = None
    cel_type: ClassVar[Type] = AUTHORIZER_TYPE
    cel_unit_equality: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class _Check:
    authorizer: Authorizer
    question: Question
    cel_unit_equality: ClassVar[bool] = True

    def check(self, verb: str) -> Decision:
        return self.authorizer.authorize(replace(self.question, verb=verb))

    def having(self, **changes: Any) -> Any:
        return replace(self, question=replace(self.question, **changes))


@dataclass(frozen=True, slots=True)
class PathCheck(_Check):
    cel_type: ClassVar[Type] = PATH_CHECK_TYPE


@dataclass(frozen=True, slots=True)
class GroupCheck(_Check):
    cel_type: ClassVar[Type] = GROUP_CHECK_TYPE


@dataclass(frozen=True, slots=True)
class ResourceCheck(_Check):
    """Also the value of ``authorizer.requestResource``; see request_resource()."""

    cel_type: ClassVar[Type] = RESOURCE_CHECK_TYPE


def request_resource(
    authorizer: Authorizer, group: str, resource: str, subresource: str, namespace: str, name: str
) -> ResourceCheck:
    """Value of the variable ``authorizer.requestResource``: a check prepared for the resource of
    the request."""
    question = Question(
        "", authorizer.service_account, "", group, resource, subresource, namespace, name
    )
    return ResourceCheck(authorizer, question)


def _question(authorizer: Authorizer, **members: Any) -> Question:
    return Question("", authorizer.service_account, **members)


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise EvalError("path must not be empty")
    return PathCheck(authorizer, _question(authorizer, path=path))


def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer, _question(authorizer, group=group))


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns1123_subdomain(name):
        raise EvalError("Invalid service account name")
    if dns1123_label(namespace):
        raise EvalError("Invalid service account namespace")
    return Authorizer(authorizer.authorize, (namespace, name))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvalError("resource must not be empty")
    return ResourceCheck(check.authorizer, replace(check.question, resource=resource))


_T = {
    "Authorizer": AUTHORIZER_TYPE,
    "PathCheck": PATH_CHECK_TYPE,
    "GroupCheck": GROUP_CHECK_TYPE,
    "ResourceCheck": RESOURCE_CHECK_TYPE,
    "Decision": DECISION_TYPE,
}

AUTHORIZER = functions(
    overload("authorizer_path", "Authorizer.path(string) -> PathCheck", _path, _T),
    overload("authorizer_group", "Authorizer.group(string) -> GroupCheck", _group, _T),
    overload(
        "authorizer_serviceaccount",
        "Authorizer.serviceAccount(string, string) -> Authorizer",
        _service_account,
        _T,
    ),
    overload("groupcheck_resource", "GroupCheck.resource(string) -> ResourceCheck", _resource, _T),
    overload(
        "resourcecheck_subresource",
        "ResourceCheck.subresource(string) -> ResourceCheck",
        lambda c, s: c.having(subresource=s),
        _T,
    ),
    overload(
        "resourcecheck_namespace",
        "ResourceCheck.namespace(string) -> ResourceCheck",
        lambda c, s: c.having(namespace=s),
        _T,
    ),
    overload(
        "resourcecheck_name",
        "ResourceCheck.name(string) -> ResourceCheck",
        lambda c, s: c.having(name=s),
        _T,
    ),
    overload("pathcheck_check", "PathCheck.check(string) -> Decision", _Check.check, _T),
    overload("resourcecheck_check", "ResourceCheck.check(string) -> Decision", _Check.check, _T),
    overload("decision_errored", "Decision.errored() -> bool", lambda d: d.error != "", _T),
    overload("decision_error", "Decision.error() -> string", lambda d: d.error, _T),
    overload("decision_allowed", "Decision.allowed() -> bool", lambda d: d.allowed, _T),
    overload("decision_reason", "Decision.reason() -> string", lambda d: d.reason, _T),
    overload(
        "authorizer_fieldselector",
        "ResourceCheck.fieldSelector(string) -> ResourceCheck",
        lambda c, s: c.having(field_selector=s),
        _T,
    ),
    overload(
        "authorizer_labelselector",
        "ResourceCheck.labelSelector(string) -> ResourceCheck",
        lambda c, s: c.having(label_selector=s),
        _T,
    ),
)
