"""The spec of a Job, in Jobs and in CronJobs (k8s.io/kubernetes ``apis/batch/validation``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.fielderrors import (
    FieldError,
    FieldPath,
    GoSyntax,
    domain_prefixed_path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from apiserver.golang.strconv import go_quote
from apiserver.kinds.batch.indexes import IndexesError, count_indexes
from apiserver.kinds.common import checks, podwarnings, templates
from apiserver.kinds.common.internal import quote
from apiserver.meta.objects import ReadOnlyObject

INDEXED = "Indexed"
_MANY = 100_000
_MANY_AT_ONCE = 10_000
_MAX_RULES = 20
_MOST_INDEXES_BYTES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def job_spec(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """All but the selector, which CronJobs do not have."""
    yield from checks.non_negatives(
        spec,
        path,
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    )
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    yield from _managed_by(spec.get("managedBy"), path.child("managedBy"))
    yield from _completion_mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from _failure_policy(spec, path.child("podFailurePolicy"))
    if spec.get("successPolicy") is not None:
        yield from _success_policy(spec, path.child("successPolicy"))
    yield from _replacement_policy(spec, path.child("podReplacementPolicy"))
    template = spec.get("template") or {}
    yield from templates.pod_template(template, path.child("template"))
    yield from _restart_policy(spec, (template.get("spec") or {}).get("restartPolicy", ""), path)


def _restart_policy(spec: ReadOnlyObject, policy: str, path: FieldPath) -> checks.Errors:
    at = path.child("template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        yield required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(at, policy, ["OnFailure", "Never"])
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _managed_by(value: str | None, path: FieldPath) -> checks.Errors:
    if value is None:
        return
    yield from domain_prefixed_path(value, path)
    if len(value.encode()) > 63:
        yield too_long(path, 63)


def _completion_mode(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    mode, failed = spec.get("completionMode"), spec.get("maxFailedIndexes")
    if mode is not None and mode not in ("NonIndexed", INDEXED):
        yield not_supported(path.child("completionMode"), mode, ["NonIndexed", INDEXED])
    if mode == INDEXED:
        yield from _indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        for field, value in (
            ("backoffLimitPerIndex", spec.get("backoffLimitPerIndex")),
            ("maxFailedIndexes", failed),
        ):
            if value is not None:
                yield invalid(path.child(field), value, "requires indexed completion mode")


def _indexed(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    completions, parallelism, failed = (
        spec.get(f) for f in ("completions", "parallelism", "maxFailedIndexes")
    )
    if completions is None:
        yield required(path.child("completions"), f"when completion mode is {INDEXED}")
    if parallelism is not None and parallelism > _MANY:
        yield invalid(
            path.child("parallelism"),
            parallelism,
            f"must be less than or equal to {_MANY} when completion mode is {INDEXED}",
        )
    if completions is not None and failed is not None and failed > completions:
        yield invalid(
            path.child("maxFailedIndexes"), failed, "must be less than or equal to completions"
        )
    if failed is not None and failed > _MANY:
        yield invalid(
            path.child("maxFailedIndexes"), failed, f"must be less than or equal to {_MANY}"
        )
    if completions is None or completions <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return
    if failed is None:
        yield required(
            path.child("maxFailedIndexes"), f"must be specified when completions is above {_MANY}"
        )
    for field, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > _MANY_AT_ONCE:
            why = (
                f"must be less than or equal to {_MANY_AT_ONCE} when completions are "
                f"above {_MANY} and used with backoff limit per index"
            )
            yield invalid(path.child(field), value, why)


def _valid(values: Sequence[str]) -> str:
    """As Go prints a quoted list."""
    return f"valid values: [{' '.join(go_quote(value) for value in values)}]"


def _without_value(path: FieldPath, why: str) -> FieldError:
    """An Invalid error that shows no value."""
    return invalid(path, GoSyntax(why), "")


def _failure_policy(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    rules = spec["podFailurePolicy"].get("rules") or ()
    at = path.child("rules")
    if len(rules) > _MAX_RULES:
        yield too_many(at, len(rules), _MAX_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    container_names = {
        c.get("name") for name in ("containers", "initContainers") for c in pod.get(name) or ()
    }
    for i, rule in enumerate(rules):
        yield from _failure_rule(rule, spec, at.at(i), container_names)


def _failure_rule(
    rule: ReadOnlyObject, spec: ReadOnlyObject, path: FieldPath, containers: set[Any]
) -> checks.Errors:
    action = rule.get("action", "")
    if not action:
        yield required(path.child("action"), _valid(_ACTIONS))
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid(path.child("action"), action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(path.child("action"), action, list(_ACTIONS))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _exit_codes(codes, path.child("onExitCodes"), containers)
    if conditions:
        yield from _pod_conditions(conditions, path.child("onPodConditions"))
    if codes is not None and conditions:
        yield _without_value(
            path, "specifying both OnExitCodes and OnPodConditions is not supported"
        )
    if codes is None and not conditions:
        yield _without_value(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(codes: ReadOnlyObject, path: FieldPath, containers: set[Any]) -> checks.Errors:
    operator, values, at = (
        codes.get("operator", ""),
        codes.get("values") or [],
        path.child("values"),
    )
    if not operator:
        yield required(path.child("operator"), _valid(("In", "NotIn")))
    elif operator not in ("In", "NotIn"):
        yield not_supported(path.child("operator"), operator, ["In", "NotIn"])
    name = codes.get("containerName")
    if name is not None and name not in containers:
        yield invalid(
            path.child("containerName"),
            name,
            "must be one of the container or initContainer names in the pod template",
        )
    if not values:
        yield invalid(at, codes.get("values"), "at least one value is required")
    elif len(values) > 255:
        yield too_many(at, len(values), 255)
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(at.at(i), value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(at.at(i), value)
        seen.add(value)
    if values != sorted(values):
        yield invalid(at, values, "must be ordered")


def _pod_conditions(conditions: Any, path: FieldPath) -> checks.Errors:
    statuses = ("False", "True", "Unknown")
    if len(conditions) > _MAX_RULES:
        yield too_many(path, len(conditions), _MAX_RULES)
    for i, condition in enumerate(conditions):
        at, status = path.at(i), condition.get("status", "")
        yield from checks.qualified_name(condition.get("type", ""), at.child("type"))
        if not status:
            yield required(at.child("status"), _valid(statuses))
        elif status not in statuses:
            yield not_supported(at.child("status"), status, list(statuses))


def _success_policy(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    policy, completions = spec["successPolicy"], spec.get("completions")
    if spec.get("completionMode") != INDEXED:
        policy_text = quote("batch.v1.SuccessPolicy", policy)
        yield invalid(path, policy_text, "requires indexed completion mode")
        return
    rules, at = policy.get("rules") or (), path.child("rules")
    if not rules:
        yield required(
            at, "at least one rules must be specified when the successPolicy is specified"
        )
    if len(rules) > _MAX_RULES:
        yield too_many(at, len(rules), _MAX_RULES)
    for i, rule in enumerate(rules):
        yield from _success_rule(rule, at.at(i), completions)


def _success_rule(rule: ReadOnlyObject, path: FieldPath, completions: int | None) -> checks.Errors:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
        return
    total = None
    if indexes is not None:
        total = 0  # also of a list that does not parse
        if len(indexes.encode()) > _MOST_INDEXES_BYTES:
            yield too_long(path.child("succeededIndexes"), _MOST_INDEXES_BYTES)
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as e:
            yield invalid(
                path.child("succeededIndexes"), indexes, f"error parsing succeededIndexes: {e}"
            )
    if count is None:
        return
    at = path.child("succeededCount")
    yield from checks.non_negative(count, at)
    if completions is not None and count > completions:
        yield invalid(
            at,
            count,
            f"must be less than or equal to {completions} (the number of specified completions)",
        )
    if total is not None and count > total:
        yield invalid(
            at,
            count,
            f"must be less than or equal to {total} (the number of indexes in the specified "
            f"succeededIndexes field)",
        )


def _replacement_policy(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    supported = (
        ["Failed"]
        if spec.get("podFailurePolicy") is not None
        else ["Failed", "TerminatingOrFailed"]
    )
    if policy not in supported:
        yield not_supported(path, policy, supported)


def spec_warnings(spec: ReadOnlyObject, path: FieldPath) -> list[str]:
    texts = []
    if (
        spec.get("completionMode") == INDEXED
        and (spec.get("completions") or 0) > _MANY
        and (spec.get("parallelism") or 0) > _MANY_AT_ONCE
    ):
        texts.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes "
            "when a big number of indexes fail"
        )
    return texts + podwarnings.template(spec.get("template"), path.child("template"))
