"""AuthorizationConfiguration of apiserver.config.k8s.io: which authorizers are asked, in which
order.

Sources: k8s.io/apiserver ``apis/apiserver/{v1,validation}``, kubernetes
``pkg/kubeapiserver/authorizer``. What is wrong is told in kube-apiserver's words, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from admission.config import ConfigError, Section
from apiserver.authorizers import conditions
from apiserver.authorizers.webhook import Settings
from apiserver.errors import aggregate
from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from apiserver.golang.time import TimeError, format_duration, parse_duration
from apiserver.meta.names import dns1123_subdomain

TYPES = ("AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")
WEBHOOK = "Webhook"
_VERSIONS = ("v1", "v1beta1", "v1alpha1")
_SECOND = 1_000_000_000
_LONGEST = 30 * _SECOND
_AUTHORIZED, _UNAUTHORIZED = 300 * _SECOND, 30 * _SECOND

FileProblem = Callable[[str], str]
"""What is wrong with a file, by its path; "" where it is a regular one."""


class Called(NamedTuple):
    """A webhook. timeout: seconds for one try; kubeconfig: the path of the file that says where it
    is; conditions: expressions, all of which must hold for it to be asked."""

    settings: Settings
    timeout: float
    kubeconfig: str
    conditions: tuple[str, ...]


class Configured(NamedTuple):
    """One authorizer. called: for a Webhook, and for nothing else."""

    type: str
    name: str
    called: Called | None = None


class _Webhook(NamedTuple):
    """As it is written, with defaults; times in nanoseconds."""

    timeout: int
    authorized: int
    unauthorized: int
    keeps_authorized: bool
    keeps_unauthorized: bool
    version: str
    condition_version: str
    failure_policy: str
    connection: str
    kubeconfig: str | None
    conditions: tuple[str, ...]


class _Written(NamedTuple):
    type: str
    name: str
    webhook: _Webhook | None


def of_modes(modes: Sequence[str]) -> list[Configured]:
    """What --authorization-mode says; a webhook takes a file. Raises ConfigError."""
    unknown = [mode for mode in modes if mode not in TYPES or mode == WEBHOOK]
    if unknown:
        raise ConfigError(f'"{unknown[0]}" is not a valid mode')
    if len(set(modes)) < len(modes):
        raise ConfigError(f"{list(modes)} has mode specified more than once")
    return [Configured(mode, mode.lower()) for mode in modes]


def read(document: Any, problem_of: FileProblem) -> list[Configured]:
    """From a decoded file. Raises ConfigError."""
    try:
        written = _decode(Section(document))
    except ConfigError as error:
        raise ConfigError(f"failed to load AuthorizationConfiguration from file: {error}") from None
    if errors := _errors(written, problem_of):
        raise ConfigError(aggregate([str(error) for error in errors]))
    misnamed = [
        f"expected name {one.type.lower()} for authorizer {one.type} instead of {one.name}"
        for one in written
        if one.type != WEBHOOK and one.name != one.type.lower()
    ]
    if misnamed:
        raise ConfigError(aggregate(misnamed))
    return [Configured(one.type, one.name, one.webhook and _called(one.webhook)) for one in written]


def _called(webhook: _Webhook) -> Called:
    settings = Settings(
        webhook.version,
        webhook.authorized / _SECOND if webhook.keeps_authorized else 0.0,
        webhook.unauthorized / _SECOND if webhook.keeps_unauthorized else 0.0,
        webhook.failure_policy == "Deny",
    )
    timeout = webhook.timeout / _SECOND
    return Called(settings, timeout, webhook.kubeconfig or "", webhook.conditions)


# --- decoding -------------------------------------------------------------------------------------
def _decode(document: Section) -> list[_Written]:
    """Raises ConfigError."""
    document.of_kind("apiserver.config.k8s.io", _VERSIONS, "AuthorizationConfiguration")
    authorizers = []
    for section in document.sections("authorizers"):
        webhook = _decode_webhook(section.section("webhook")) if section.has("webhook") else None
        authorizers.append(_Written(section.text("type"), section.text("name"), webhook))
        section.end()
    document.end()
    return authorizers


def _decode_webhook(section: Section) -> _Webhook:
    connection = section.section("connectionInfo")
    has_path = connection.has("kubeConfigFile")
    path, expressions = connection.text("kubeConfigFile"), []
    for condition in section.sections("matchConditions"):
        expressions.append(condition.text("expression"))
        condition.end()
    webhook = _Webhook(
        timeout=_duration(section, "timeout"),
        authorized=_duration(section, "authorizedTTL") or _AUTHORIZED,
        unauthorized=_duration(section, "unauthorizedTTL") or _UNAUTHORIZED,
        keeps_authorized=section.flag("cacheAuthorizedRequests", True),
        keeps_unauthorized=section.flag("cacheUnauthorizedRequests", True),
        version=section.text("subjectAccessReviewVersion"),
        condition_version=section.text("matchConditionSubjectAccessReviewVersion"),
        failure_policy=section.text("failurePolicy"),
        connection=connection.text("type"),
        kubeconfig=path if has_path else None,
        conditions=tuple(expressions),
    )
    connection.end()
    section.end()
    return webhook


def _duration(section: Section, name: str) -> int:
    """Nanoseconds; 0 for none."""
    text = section.text(name)
    try:
        return parse_duration(text) if text else 0
    except TimeError as error:
        raise section.wrong(name, f": {error}") from None


# --- validation -----------------------------------------------------------------------------------
def _errors(written: Sequence[_Written], problem_of: FileProblem) -> FieldErrors:
    errors: FieldErrors = []
    if not written:
        why = "at least one authorization mode must be defined"
        errors.append(required("authorizers", why))
    types, names = set[str](), set[str]()
    for i, one in enumerate(written):
        path = FieldPath("authorizers").at(i)
        if wrong := _type_errors(one.type, types, path.child("type")):
            errors += wrong
            continue
        types.add(one.type)
        errors += _name_errors(one.name, names, path.child("name"))
        names.add(one.name)
        if one.type != WEBHOOK:
            if one.webhook is not None:
                why = "may only be specified when type=Webhook"
                errors.append(invalid(path.child("webhook"), "non-null", why))
        elif one.webhook is None:
            errors.append(required(path.child("webhook"), "required when type=Webhook"))
        else:
            errors += _webhook_errors(one.webhook, path, problem_of)
    return errors


def _type_errors(type_: str, seen: set[str], path: FieldPath) -> FieldErrors:
    if not type_:
        return [required(path)]
    if type_ not in TYPES:
        return [not_supported(path, type_, sorted(TYPES))]
    return [duplicate(path, type_)] if type_ in seen and type_ != WEBHOOK else []


def _name_errors(name: str, seen: set[str], path: FieldPath) -> FieldErrors:
    if not name:
        return [required(path)]
    if name in seen:
        return [duplicate(path, name)]
    if wrong := dns1123_subdomain(name):
        return [invalid(path, name, f"authorizer name is invalid: {', '.join(wrong)}")]
    return []


def _webhook_errors(webhook: _Webhook, path: FieldPath, problem_of: FileProblem) -> FieldErrors:
    errors: FieldErrors = []
    if webhook.timeout == 0:
        errors.append(required(path.child("timeout")))
    elif not 0 < webhook.timeout <= _LONGEST:
        why = "must be > 0s and <= 30s"
        errors.append(invalid(path.child("timeout"), format_duration(webhook.timeout), why))
    for member, value in (
        ("authorizedTTL", webhook.authorized),
        ("unauthorizedTTL", webhook.unauthorized),
    ):
        if value < 0:
            errors.append(invalid(path.child(member), format_duration(value), "must be > 0s"))
    errors += _one_of(webhook.version, path.child("subjectAccessReviewVersion"), "v1", "v1beta1")
    at = path.child("matchConditionSubjectAccessReviewVersion")
    if webhook.condition_version:
        errors += _one_of(webhook.condition_version, at, "v1")
    elif webhook.conditions:
        errors.append(required(at, "required if match conditions are specified"))
    errors += _one_of(webhook.failure_policy, path.child("failurePolicy"), "NoOpinion", "Deny")
    errors += _connection_errors(webhook, path.child("connectionInfo"), problem_of)
    return errors + _condition_errors(webhook.conditions, path.child("matchConditions"))


def _one_of(value: str, path: FieldPath, *choices: str) -> FieldErrors:
    if not value:
        return [required(path)]
    return [] if value in choices else [not_supported(path, value, list(choices))]


def _connection_errors(webhook: _Webhook, path: FieldPath, problem_of: FileProblem) -> FieldErrors:
    """InClusterConfig is for others than kube-apiserver, which are inside of a cluster."""
    kind, file, at = webhook.connection, webhook.kubeconfig, path.child("kubeConfigFile")
    if kind == "InClusterConfig":
        wrong = [invalid(path.child("type"), kind, "this server is in no cluster")]
        if file is not None:
            wrong.append(invalid(at, file, "can only be set when type=KubeConfigFile"))
        return wrong
    if not kind:
        return [required(path.child("type"))]
    if kind != "KubeConfigFile":
        value = {"Type": kind, "KubeConfigFile": file}
        return [not_supported(path.child("type"), value, ["InClusterConfig", "KubeConfigFile"])]
    if not file:
        return [required(at)]
    if not file.startswith("/"):
        return [invalid(at, file, "must be an absolute path")]
    problem = problem_of(file)
    return [invalid(at, file, problem)] if problem else []


def _condition_errors(expressions: Sequence[str], path: FieldPath) -> FieldErrors:
    if len(expressions) > conditions.MOST:
        return [too_many(path, len(expressions), conditions.MOST)]
    errors: FieldErrors = []
    for i, expression in enumerate(expressions):
        at = path.at(i).child("expression")
        if not expression.strip():
            errors.append(required(at))
        elif expression in expressions[:i]:
            errors.append(duplicate(at, expression))
        elif why := conditions.compiled(expression).error:
            errors.append(invalid(at, expression, why))
    return errors
