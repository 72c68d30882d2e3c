"""CronJob (k8s.io/kubernetes ``registry/batch/cronjob``, ``apis/batch/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from apiserver.fielderrors import FieldErrors, invalid, not_supported, required
from apiserver.kinds.base import WriteContext
from apiserver.kinds.batch.job import default_failure_policy
from apiserver.kinds.batch.jobspec import job_spec, spec_warnings
from apiserver.kinds.batch.schedule import ScheduleError, check_schedule
from apiserver.kinds.common import checks, disabled, poddefaults, selectors, table
from apiserver.kinds.common.workload import SPEC, Workload, name_for_pods
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_SCHEDULE = SPEC.child("schedule")
_JOB = SPEC.child("jobTemplate", "spec")
_MAX_NAME = 52
_POLICIES = ("Allow", "Forbid", "Replace")


@register("batch", "CronJob")
class CronJob(Workload):
    metadata_again = False
    part_update = False
    declared = Declared({"spec.schedule": [t.alpha(t.required())]})

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
        poddefaults.default_template(job.setdefault("template", {}))
        default_failure_policy(job.get("podFailurePolicy"))
        spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
        for field, value in (
            ("suspend", False),
            ("successfulJobsHistoryLimit", 3),
            ("failedJobsHistoryLimit", 1),
        ):
            if spec.get(field) is None:
                spec[field] = value

    def drop_disabled(self, obj: Object) -> None:
        disabled.drop(obj["spec"]["jobTemplate"]["spec"]["template"]["spec"])

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        """The controller appends "-<number>" to make names of jobs, which are at most 63 long."""
        name = obj["metadata"].get("name", "")
        errors = list(_spec(obj["spec"], None))
        if len(name) > _MAX_NAME:
            why = f"must be no more than {_MAX_NAME} characters"
            errors.append(invalid(checks.root("metadata", "name"), name, why))
        return errors

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(_spec(obj["spec"], old["spec"]))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        spec = obj["spec"]
        if old is None:
            return [*name_for_pods(obj), *spec_warnings(spec["jobTemplate"]["spec"], _JOB)]
        texts = []
        if obj["metadata"].get("generation") != old["metadata"].get("generation"):
            texts = spec_warnings(spec["jobTemplate"]["spec"], _JOB)
        if "TZ" in spec.get("schedule", "") and not context.subresource:
            link = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
            texts.append(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                f"{link} for more details"
            )
        return texts

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        job = (spec.get("jobTemplate") or {}).get("spec") or {}
        last = age(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else "<none>"
        row = [
            spec.get("schedule", ""),
            spec.get("timeZone") or "<none>",
            table.truth(spec.get("suspend")),
        ]
        pods = table.containers((job.get("template") or {}).get("spec") or {})
        active = len(status.get("active") or ())
        return [
            table.name(obj),
            *row,
            active,
            last,
            table.created(obj, now),
            *pods,
            selectors.show(job.get("selector")),
        ]


def _spec(spec: Mapping[str, Any], before: Mapping[str, Any] | None) -> checks.Errors:
    """A schedule that names a zone may still do so; a zone that stays is not asked for."""
    yield from _schedule(spec, zoned=before is not None and "TZ" in before.get("schedule", ""))
    deadline = "startingDeadlineSeconds"
    yield from checks.non_negative(spec.get(deadline), SPEC.child(deadline))
    if before is None or spec.get("timeZone") != before.get("timeZone"):
        yield from _time_zone(spec.get("timeZone"))
    policy = "concurrencyPolicy"
    yield from checks.one_of(spec.get(policy), SPEC.child(policy), _POLICIES)
    yield from _job_template(spec["jobTemplate"]["spec"])
    yield from checks.non_negatives(
        spec, SPEC, "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )


def _schedule(spec: Mapping[str, Any], *, zoned: bool) -> checks.Errors:
    """``zoned``: whether the schedule may name a time zone."""
    schedule = spec.get("schedule", "")
    if not schedule:
        yield from covered([required(_SCHEDULE)])
        return
    try:
        check_schedule(schedule)
    except ScheduleError as e:
        yield invalid(_SCHEDULE, schedule, str(e))
    if "TZ" not in schedule:
        return
    if not zoned:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid(_SCHEDULE, schedule, why)
    elif spec.get("timeZone") is not None:
        why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid(_SCHEDULE, schedule, why)


def _time_zone(zone: str | None) -> checks.Errors:
    """ "Local" loads where Go looks for zones, other spellings of it do not."""
    path = SPEC.child("timeZone")
    if zone is None:
        return
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    if zone.lower() == "local":
        yield invalid(
            path,
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        )
    if zone != "Local" and (zones := available_timezones()) and zone not in zones:
        yield invalid(path, zone, f"unknown time zone {zone}")


def _job_template(job: Mapping[str, Any]) -> checks.Errors:
    """Its selector will be generated for each job."""
    yield from job_spec(job, _JOB)
    if job.get("selector") is not None:
        text = selectors.quoted(job["selector"])
        yield invalid(_JOB.child("selector"), text, "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield not_supported(_JOB.child("manualSelector"), True, ["nil", "false"])
