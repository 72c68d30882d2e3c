"""The reviews of authorization.k8s.io/v1: a question about rights as an object, answered in its
status.

Sources: kubernetes ``pkg/apis/authorization/validation`` and ``pkg/registry/authorization``. Pure
over an authorizer; nothing is stored. Objects arrive decoded and pruned; the answer is a new
object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from apiserver.authz.attributes import Attributes, Authorize, Decision
from apiserver.authz.rbac import UserRules
from apiserver.authz.review_selectors import (
    read_field_selector,
    read_label_selector,
    selector_errors,
)
from apiserver.errors import BadRequest, Invalid, aggregate
from apiserver.fielderrors import FieldErrors, FieldPath, GoSyntax, invalid
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object
from apiserver.user import User

_NO_KIND = GroupKind("authorization.k8s.io", "")
"""Upstream names no kind when it refuses a review."""


async def subject_access_review(review: Object, authorize: Authorize) -> Object:
    """For SubjectAccessReview. Raises Invalid."""
    refuse(spec_errors(review, named=True) + metadata_errors(review, "must be empty"))
    return await _answer(review, subject_of(review["spec"]), authorize)


async def local_subject_access_review(
    review: Object, namespace: str, authorize: Authorize
) -> Object:
    """For LocalSubjectAccessReview posted to ``namespace``. Raises Invalid, BadRequest."""
    errors = spec_errors(review, named=True) + metadata_errors(
        review, "must be empty except for namespace", frozenset({"namespace"})
    )
    spec, own = spec_of(review), review.get("metadata", {}).get("namespace", "")
    asked = spec.get("resourceAttributes")
    if asked is not None and asked.get("namespace", "") != own:
        errors.append(
            invalid(
                "spec.resourceAttributes.namespace",
                asked.get("namespace", ""),
                "must match metadata.namespace",
            )
        )
    if spec.get("nonResourceAttributes") is not None:
        errors.append(
            invalid(
                "spec.nonResourceAttributes",
                _go_url_attributes(spec["nonResourceAttributes"]),
                "disallowed on this kind of request",
            )
        )
    refuse(errors)
    if namespace != own:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    return await _answer(review, subject_of(spec), authorize)


async def self_subject_access_review(review: Object, user: User, authorize: Authorize) -> Object:
    """For SelfSubjectAccessReview by ``user``. Raises Invalid."""
    refuse(spec_errors(review, named=False) + metadata_errors(review, "must be empty"))
    return await _answer(review, user, authorize)


async def self_subject_rules_review(
    review: Object, user: User, rules_for: Callable[[User, str], Awaitable[UserRules]]
) -> Object:
    """For SelfSubjectRulesReview: the rules of ``user`` in spec.namespace; the answer carries no
    spec. Raises BadRequest."""
    namespace = spec_of(review).get("namespace", "")
    if not namespace:
        raise BadRequest("no namespace on request")
    rules = await rules_for(user, namespace)
    resource_rules, url_rules = [], []
    for rule in rules.rules:
        if rule.get("resources"):
            resource_rules.append(_members(rule, "apiGroups", "resources", "resourceNames"))
        if rule.get("nonResourceURLs"):
            url_rules.append(_members(rule, "nonResourceURLs"))
    status: Object = {
        "resourceRules": resource_rules,
        "nonResourceRules": url_rules,
        "incomplete": rules.incomplete,
    }
    if rules.errors:
        status["evaluationError"] = aggregate(rules.errors)
    return {**review, "metadata": {}, "spec": {}, "status": status}


def _members(rule: Mapping[str, Any], *names: str) -> Object:
    return {
        "verbs": rule.get("verbs") or [],
        **{name: rule[name] for name in names if rule.get(name)},
    }


# --- evaluation -----------------------------------------------------------------------------------
def subject_of(spec: Object) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


async def _answer(review: Object, user: User, authorize: Authorize) -> Object:
    attributes, problems = attributes_of(user, review["spec"])
    return {**review, "status": status_of(await authorize(attributes), problems)}


def status_of(decision: Decision, problems: Sequence[str]) -> Object:
    """``problems``: of reading the question."""
    status: Object = {"allowed": decision.allowed}
    if decision.denied:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if errors := [error for error in (decision.error, *problems) if error]:
        status["evaluationError"] = "; ".join(errors)
    return status


def attributes_of(user: User, spec: Object) -> tuple[Attributes, list[str]]:
    """What is asked, and which selectors could not be read: those only widen the question."""
    asked = spec.get("resourceAttributes")
    if asked is None:
        url = spec["nonResourceAttributes"]
        return Attributes(
            user, url.get("verb", ""), path=url.get("path", ""), is_resource=False
        ), []
    by_field, field_failed = read_field_selector(asked.get("fieldSelector"))
    by_label, label_failed = read_label_selector(asked.get("labelSelector"))
    attributes = Attributes(
        user,
        asked.get("verb", ""),
        group=asked.get("group", ""),
        version=asked.get("version") or "*",
        resource=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=asked.get("namespace", ""),
        name=asked.get("name", ""),
        label_requirements=by_label,
        field_requirements=by_field,
    )
    problems = []
    for member, failed, read in (
        ("fieldSelector", field_failed, bool(by_field)),
        ("labelSelector", label_failed, bool(by_label)),
    ):
        if failed:
            problems.append(
                f"spec.resourceAttributes.{member} {'partially ' if read else ''}ignored due to "
                f"parse error"
            )
    return attributes, problems


# --- validation -----------------------------------------------------------------------------------
def spec_of(review: Object) -> Object:
    return review.get("spec") or {}


def refuse(errors: FieldErrors) -> None:
    if errors:
        raise Invalid(_NO_KIND, "", errors)


def spec_errors(review: Object, *, named: bool) -> FieldErrors:
    """``named``: the review says whose rights it asks for."""
    spec, path = spec_of(review), FieldPath("spec")
    asked, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors: FieldErrors = []
    if asked is not None and url is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid(path.child("nonResourceAttributes"), _go_url_attributes(url), why))
    if asked is None and url is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid(path.child("resourceAttributes"), None, why))
    if named and not spec.get("user") and not spec.get("groups"):
        errors.append(
            invalid(path.child("user"), "", "at least one of user or group must be specified")
        )
    return errors + selector_errors(asked or {}, path.child("resourceAttributes"))


def metadata_errors(review: Object, why: str, allowed: frozenset[str] = frozenset()) -> FieldErrors:
    metadata = review.get("metadata") or {}
    if any(
        value for name, value in metadata.items() if name not in allowed and name != "managedFields"
    ):
        return [invalid("metadata", metadata, why)]
    return []


def _go_url_attributes(value: Object) -> GoSyntax:
    return GoSyntax(
        f'{{"Path":{go_quote(value.get("path", ""))},"Verb":{go_quote(value.get("verb", ""))}}}'
    )
