"""Job: its selector comes from its uid, and most of it never changes (k8s.io/kubernetes
``registry/batch/job``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid, required
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import WriteContext
from apiserver.kinds.batch.jobspec import INDEXED, job_spec, spec_warnings
from apiserver.kinds.batch.jobstatus import status_errors
from apiserver.kinds.batch.jobtemplate import template_errors
from apiserver.kinds.common import checks, selectors, table
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.workload import SPEC, Workload, name_for_pods, template
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import human_duration, parse_time
from apiserver.schema.labelselector import validate_label_selector

UID, NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_OLD_UID, _OLD_NAME = "controller-uid", "job-name"
_GENERATED = frozenset({UID, NAME, _OLD_UID, _OLD_NAME})
_LABELS = SPEC.child("template", "metadata", "labels")
_IMMUTABLE = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_STRUCTS: Mapping[str, Callable[[Any], Any]] = {
    "selector": selectors.quoted,
    "podFailurePolicy": partial(quote, "batch.v1.PodFailurePolicy"),
    "successPolicy": partial(quote, "batch.v1.SuccessPolicy"),
}
_SHOWN = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
MAX_INT32 = 0x7FFFFFFF


@register("batch", "Job")
class Job(Workload):
    dependents = "orphan"
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; "
        "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to "
        "suppress this warning"
    )

    def default(self, obj: Object, version: str) -> None:
        super().default(obj, version)
        default_spec(obj["spec"])
        _labels_from_template(obj)

    def copy(self, obj: Object) -> Object:
        copied = copy_json(obj)
        if obj["metadata"].get("labels") is _template_labels(obj):
            copied["metadata"].pop("labels", None)
            _labels_from_template(copied)
        return copied

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        _generate_selector(obj)

    def forget_uid(self, obj: Object) -> None:
        """Selector and labels were generated with it, and are again."""
        spec = obj["spec"]
        if spec.get("manualSelector"):
            return
        labels = _template_labels(obj) or {}
        if obj["metadata"].get("labels") == labels:
            obj["metadata"].pop("labels", None)  # they come from the template once more
        for key in (_OLD_UID, UID):
            labels.pop(key, None)
        spec.pop("selector", None)

    def canonicalize(self, obj: Object) -> None:
        # Reading it back applies the defaults once more, and by then the template has labels.
        _labels_from_template(obj)

    def completed_by_update(self, obj: Object) -> bool:
        """One that came without any labels is stored without."""
        generated = not obj["spec"].get("manualSelector")
        return generated and (obj["metadata"].get("labels") or {}).keys() == _GENERATED

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        return list(job_spec(spec, SPEC)) + list(_selector(spec))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [*_generated(obj, prefixed=True), *_last_host(obj)]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """The spec is validated once more beside what may not change, so its errors show twice.
        Jobs made before the prefixed labels need not have them."""
        new, before = obj["spec"], old["spec"]
        were = (template(old).get("metadata") or {}).get("labels") or {}
        errors = list(_generated(obj, prefixed=UID in were and NAME in were))
        errors += _last_host(obj)
        errors += self.validate(obj, context)
        errors += _completions(new, before)
        for field in _IMMUTABLE:
            errors += checks.immutable(
                new.get(field), before.get(field), SPEC.child(field), quote=_STRUCTS.get(field)
            )
        return errors + list(template_errors(obj, old))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return list(status_errors(obj, old))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if old is None:
            return [*name_for_pods(obj), *spec_warnings(obj["spec"], SPEC)]
        same = obj["metadata"].get("generation") == old["metadata"].get("generation")
        return [] if same else list(spec_warnings(obj["spec"], SPEC))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        pods = table.containers((spec.get("template") or {}).get("spec") or {})
        row = [_state(obj), _progress(spec, status), _duration(status, now)]
        return [
            table.name(obj),
            *row,
            table.created(obj, now),
            *pods,
            selectors.show(spec.get("selector")),
        ]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"status.successful": str((obj.get("status") or {}).get("succeeded", 0))}

    def unknown_field(self, version: str, name: str) -> str:
        return f"field label {go_quote(name)} not supported for Job"


def default_spec(spec: Object) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else MAX_INT32
    if spec.get("completionMode") is None:
        spec["completionMode"] = "NonIndexed"
    if spec.get("suspend") is None:
        spec["suspend"] = False
    policy = spec.get("podFailurePolicy")
    default_failure_policy(policy)
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "TerminatingOrFailed" if policy is None else "Failed"
    if spec.get("manualSelector") is None:
        spec["manualSelector"] = False


def default_failure_policy(policy: Object | None) -> None:
    for rule in (policy or {}).get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            condition["status"] = condition.get("status") or "True"


def _labels_from_template(obj: Object) -> None:
    """One and the same map, as in Go: labels that the server generates for the template come to
    the job, too, where the client has given it none."""
    labels = _template_labels(obj)
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels


def _template_labels(obj: Object) -> dict[str, str] | None:
    return (template(obj).get("metadata") or {}).get("labels")


def _generate_selector(obj: Object) -> None:
    """Labels that the client wrote stay; if they are wrong, validation refuses them."""
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    labels = _template_labels(obj)
    if labels is None:
        labels = {}
        spec["template"]["metadata"] = {
            **(spec["template"].get("metadata") or {}),
            "labels": labels,
        }
    for keys, value in (
        ((_OLD_NAME, NAME), metadata.get("name", "")),
        ((_OLD_UID, UID), metadata.get("uid", "")),
    ):
        for key in keys:
            labels.setdefault(key, value)
    selector = spec["selector"] = spec.get("selector") or {}
    selector["matchLabels"] = {UID: metadata.get("uid", ""), **(selector.get("matchLabels") or {})}


def _generated(obj: Object, *, prefixed: bool) -> checks.Errors:
    """What the server generates must be what it would generate; ``prefixed``: the labels of the
    group too."""
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    if not metadata.get("uid"):
        yield required(checks.root("metadata", "uid"))
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    labels = (template(obj).get("metadata") or {}).get("labels") or {}
    expected = {_OLD_UID: uid, _OLD_NAME: name} | ({UID: uid, NAME: name} if prefixed else {})
    for key, value in expected.items():
        if key not in labels:
            yield required(_LABELS.key(key), f"must be '{value}'")
        elif labels[key] != value:
            yield invalid(_LABELS.key(key), labels, f"must be '{value}'")
    if not selectors.problem(spec["selector"]) and not selectors.matches(
        spec["selector"], expected
    ):
        text = selectors.quoted(spec["selector"])
        yield invalid(SPEC.child("selector"), text, "`selector` not auto-generated")


def _selector(spec: Object) -> checks.Errors:
    selector = spec.get("selector")
    if selector is None:
        yield required(SPEC.child("selector"))
    else:
        yield from validate_label_selector(selector, SPEC.child("selector"))
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not selectors.problem(selector) and not selectors.matches(selector, labels):
        yield invalid(_LABELS, labels, "`selector` does not match template `labels`")


def _last_host(obj: Object) -> checks.Errors:
    """The pod of the last index has the longest host name."""
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    completions = spec.get("completions") or 0
    host = f"{name}-{completions - 1}"
    if spec.get("completionMode") == INDEXED and completions > 0 and names.dns1123_label(host):
        why = f"will not able to create pod with invalid DNS label: {host}"
        yield invalid(checks.root("metadata", "name"), name, why)


def _completions(new: Object, old: Object) -> checks.Errors:
    """Elastic indexed jobs change completions together with parallelism (KEP-3715)."""
    now, was, path = new.get("completions"), old.get("completions"), SPEC.child("completions")
    if new.get("completionMode") != INDEXED or now is None or was is None:
        yield from checks.immutable(now, was, path)
    elif now != was and now != new.get("parallelism"):
        yield invalid(path, now, f"can only be modified in tandem with {SPEC.child('parallelism')}")


def _state(obj: Object) -> str:
    # The first condition of a type is the one that counts.
    last_to_first = reversed((obj.get("status") or {}).get("conditions") or ())
    statuses = {c.get("type"): c.get("status") for c in last_to_first}
    conditions = {kind for kind, status in statuses.items() if status == "True"}
    if "Complete" in conditions or "Failed" in conditions:
        return "Complete" if "Complete" in conditions else "Failed"
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((name for name in _SHOWN if name in conditions), "Running")


def _progress(spec: Object, status: Object) -> str:
    done, parallelism = status.get("succeeded", 0), spec.get("parallelism") or 0
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(status: Object, now: datetime) -> str:
    if not status.get("startTime"):
        return ""
    end = parse_time(status["completionTime"]) if status.get("completionTime") else now
    return human_duration((end - parse_time(status["startTime"])).total_seconds())
