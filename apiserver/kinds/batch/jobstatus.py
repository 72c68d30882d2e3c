"""What a Job's status may become (k8s.io/kubernetes ``registry/batch/job``,
getStatusValidationOptions; KEP-4368).

Controllers other than Kubernetes' own write it too, so most rules are about what finished jobs must
have. A rule is asked only when what it speaks of changes: a status that broke it already can still
be updated.
"""

from __future__ import annotations

from apiserver.fielderrors import FieldError, FieldPath, GoSyntax, duplicate, invalid, required
from apiserver.kinds.batch.indexes import IndexesError, count_indexes, overlap
from apiserver.kinds.common import checks
from apiserver.kinds.common.internal import quote
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.times import parse_time

_STATUS = FieldPath("status")
_CONDITIONS = _STATUS.child("conditions")
_ZERO: ReadOnlyObject = {"active": 0, "completedIndexes": ""}
"""Of members that are no pointers."""
_COUNTED = ("active", "succeeded", "failed", "ready", "terminating")


def has(job: ReadOnlyObject, condition: str, status: str = "True") -> bool:
    """Whether the job's status says so."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == condition and c.get("status") == status for c in conditions)


def _finished(job: ReadOnlyObject) -> bool:
    return has(job, "Complete") or has(job, "Failed")


def status_errors(job: ReadOnlyObject, old: ReadOnlyObject) -> checks.Errors:
    status = job.get("status") or {}
    yield from checks.non_negatives(status, _STATUS, *_COUNTED)
    yield from _uncounted(status.get("uncountedTerminatedPods") or {})
    for rule in (_conditions, _finished_jobs, _completion_time, _indexes, _against_old):
        yield from rule(job, old, _Changes(job, old))


class _Changes:
    """Which parts of the status differ from the stored one."""

    def __init__(self, job: ReadOnlyObject, old: ReadOnlyObject) -> None:
        self._job, self._old = job, old

    def of(self, *members: str) -> bool:
        new, before = (o.get("status") or {} for o in (self._job, self._old))
        return any(new.get(m, _ZERO.get(m)) != before.get(m, _ZERO.get(m)) for m in members)

    def condition(self, *names: str) -> bool:
        return any(has(self._job, name) != has(self._old, name) for name in names)

    @property
    def finished(self) -> bool:
        return _finished(self._job) != _finished(self._old)


def _wrong(why: str) -> FieldError:
    """About all conditions; shows no value."""
    return invalid(_CONDITIONS, GoSyntax(why), "")


def _uncounted(pods: ReadOnlyObject) -> checks.Errors:
    seen: set[str] = set()
    for member in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(member) or ()):
            at = _STATUS.child("uncountedTerminatedPods", member).at(i)
            if not uid:
                yield invalid(at, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(at, uid)
            seen.add(uid)


def _conditions(job: ReadOnlyObject, old: ReadOnlyObject, changed: _Changes) -> checks.Errors:
    complete, failed, target, met = (
        has(job, c) for c in ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
    )
    if complete and failed and changed.condition("Complete", "Failed"):
        yield _wrong("cannot set Complete=True and Failed=true conditions")
    if complete and target and changed.condition("Complete", "FailureTarget"):
        yield _wrong("cannot set Complete=True and FailureTarget=true conditions")
    if failed and not target and (changed.condition("Failed") or changed.of("failedIndexes")):
        yield _wrong("cannot set Failed=True condition without the FailureTarget=true condition")
    if complete and not met and changed.condition("Complete", "SuccessCriteriaMet"):
        yield _wrong(
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        )
    if met and failed:
        yield _wrong("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and target:
        yield _wrong("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if (job.get("spec") or {}).get("successPolicy") is not None and complete and not met:
        yield _wrong(
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )


def _finished_jobs(job: ReadOnlyObject, old: ReadOnlyObject, changed: _Changes) -> checks.Errors:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    ready, active = status.get("ready"), status.get("active", 0)
    if ready is not None and ready > active and changed.of("ready", "active"):
        yield invalid(_STATUS.child("ready"), ready, "cannot set more ready pods than active")
    if not _finished(job):
        return
    if active > 0 and (changed.finished or changed.of("active")):
        yield invalid(_STATUS.child("active"), active, "active>0 is invalid for finished job")
    terminating = status.get("terminating") or 0
    if terminating > 0 and (changed.finished or changed.of("terminating")):
        yield invalid(
            _STATUS.child("terminating"), terminating, "terminating>0 is invalid for finished job"
        )
    never_ran = bool(spec.get("suspend")) and spec.get("completions") == 0
    if (
        status.get("startTime") is None
        and not never_ran
        and (changed.finished or changed.of("startTime"))
    ):
        yield required(_STATUS.child("startTime"), "startTime is required for finished job")
    pods = status.get("uncountedTerminatedPods") or {}
    if any(pods.values()) and (changed.finished or changed.of("uncountedTerminatedPods")):
        pods_text = quote("batch.v1.UncountedTerminatedPods", pods)
        yield invalid(
            _STATUS.child("uncountedTerminatedPods"),
            pods_text,
            "must be empty for finished job",
        )


def _completion_time(job: ReadOnlyObject, old: ReadOnlyObject, changed: _Changes) -> checks.Errors:
    status, path = job.get("status") or {}, _STATUS.child("completionTime")
    done, began, complete = (
        status.get("completionTime"),
        status.get("startTime"),
        has(job, "Complete"),
    )
    if changed.condition("Complete") or changed.of("completionTime"):
        if done is not None and not complete:
            yield invalid(
                path, done, "cannot set completionTime when there is no Complete=True condition"
            )
        if done is None and complete:
            yield required(path, "completionTime is required for Complete jobs")
    if (
        done
        and began
        and parse_time(done) < parse_time(began)
        and changed.of("startTime", "completionTime")
    ):
        yield invalid(path, done, "must be equal to or after `startTime`")
    was = (old.get("status") or {}).get("completionTime")
    if done is not None and was is not None and done != was:
        yield invalid(path, done, checks.IMMUTABLE)


def _indexes(job: ReadOnlyObject, old: ReadOnlyObject, changed: _Changes) -> checks.Errors:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex") is not None
    done, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    if changed.of("completedIndexes"):
        yield from _format(done, completions, "completedIndexes")
        if done and spec.get("completionMode") != "Indexed":
            why = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield invalid(_STATUS.child("completedIndexes"), done, why)
    if failed is None:
        return
    path = _STATUS.child("failedIndexes")
    if changed.of("failedIndexes"):
        if per_index:
            yield from _format(failed, completions, "failedIndexes")
        else:
            yield invalid(
                path, failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            )
    if completions is not None and changed.of("failedIndexes", "completedIndexes"):
        common = overlap(done, failed, completions)
        if common is not None:
            yield invalid(
                path, failed, f"failedIndexes and completedIndexes overlap at index: {common}"
            )


def _format(text: str, completions: int | None, member: str) -> checks.Errors:
    if completions is None:
        return
    try:
        count_indexes(text, completions)
    except IndexesError as e:
        yield invalid(_STATUS.child(member), text, f"error parsing {member}: {e}")


def _against_old(job: ReadOnlyObject, old: ReadOnlyObject, changed: _Changes) -> checks.Errors:
    """What is said once stays."""
    spec, status, before = job.get("spec") or {}, job.get("status") or {}, old.get("status") or {}
    for condition in ("Failed", "Complete", "FailureTarget"):
        if has(old, condition) and not has(job, condition):
            yield _wrong(f"cannot disable the terminal {condition}=True condition")
    if status.get("failed", 0) < before.get("failed", 0):
        yield invalid(
            _STATUS.child("failed"), status.get("failed", 0), "cannot decrease the failed counter"
        )
    may_shrink = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    )
    if not may_shrink and status.get("succeeded", 0) < before.get("succeeded", 0):
        yield invalid(
            _STATUS.child("succeeded"),
            status.get("succeeded", 0),
            "cannot decrease the succeeded counter",
        )
    yield from _start_time(job, old)
    if has(old, "SuccessCriteriaMet") and not has(job, "SuccessCriteriaMet"):
        yield _wrong("cannot disable the SuccessCriteriaMet=True condition")
    if (
        has(old, "Complete")
        and not has(old, "SuccessCriteriaMet")
        and has(job, "SuccessCriteriaMet")
    ):
        yield _wrong(
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        )


def _start_time(job: ReadOnlyObject, old: ReadOnlyObject) -> checks.Errors:
    began, begins = ((o.get("status") or {}).get("startTime") for o in (old, job))
    suspended = (job.get("spec") or {}).get("suspend")
    resumed = has(old, "Suspended") and has(job, "Suspended", "False")
    if began is not None and begins != began and not suspended and not resumed:
        why = "field is immutable for unsuspended job once set"
        yield invalid(_STATUS.child("startTime"), begins, why)
