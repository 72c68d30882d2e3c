from __future__ import annotations

import copy

from tests.support.kindtools import (
    UID,
    cells,
    changed,
    create,
    resource_of,
    typed,
    update,
    workload,
)


def job(**spec: object) -> dict[str, object]:
    made = workload("Job", "batch/v1", {"restartPolicy": "Never"}, **spec)
    made["spec"].pop("selector")
    return made


def test_selector_and_labels_come_from_the_uid() -> None:
    made = create(job())
    assert made.messages == []
    assert made.obj["spec"]["selector"] == {
        "matchLabels": {"batch.kubernetes.io/controller-uid": UID}
    }
    labels = made.obj["spec"]["template"]["metadata"]["labels"]
    assert labels == {
        "app": "x",
        "controller-uid": UID,
        "batch.kubernetes.io/controller-uid": UID,
        "job-name": "w",
        "batch.kubernetes.io/job-name": "w",
    }
    assert made.obj["metadata"]["labels"] == labels


def test_a_job_with_labels_of_its_own_keeps_those() -> None:
    wanted = job()
    wanted["metadata"] = {"name": "w", "labels": {"app": "x"}}
    made = create(wanted)
    assert made.obj["metadata"]["labels"] == {"app": "x"}
    assert made.obj["spec"]["template"]["metadata"]["labels"]["job-name"] == "w"


def test_a_copy_shares_its_labels_with_its_template_where_the_job_does() -> None:
    hooks = resource_of(job())[0].hooks
    for labels in ({}, {"labels": {"app": "x"}}):
        wanted = job()
        wanted["metadata"] = {"name": "w", **labels}
        new = typed(wanted)
        copied = hooks.copy(new)
        assert copied == new and copied["metadata"]["labels"] is not new["metadata"]["labels"]
        of_template = copied["spec"]["template"]["metadata"]["labels"]
        assert (copied["metadata"]["labels"] is of_template) is (not labels)


def test_defaults() -> None:
    spec = create(job()).obj["spec"]
    found = {
        k: spec[k]
        for k in (
            "completions",
            "parallelism",
            "backoffLimit",
            "completionMode",
            "suspend",
            "podReplacementPolicy",
            "manualSelector",
        )
    }
    assert found == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "manualSelector": False,
    }
    assert "completions" not in create(job(parallelism=2)).obj["spec"]


def test_the_restart_policy_must_be_chosen() -> None:
    wanted = workload("Job", "batch/v1")
    wanted["spec"].pop("selector")
    assert create(wanted).messages == [
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    ]


def test_a_wrong_generated_label_is_refused() -> None:
    wanted = job()
    wanted["spec"]["template"]["metadata"]["labels"]["controller-uid"] = "other"  # type: ignore[index]
    assert [e.path for e in create(wanted).errors] == [
        "spec.template.metadata.labels[controller-uid]"
    ]


def test_the_template_is_fixed_unless_the_job_is_suspended() -> None:
    old = create(job()).obj
    wanted = copy.deepcopy(old)
    wanted["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    assert [e.path for e in update(wanted, old).errors] == ["spec.template"]
    old["spec"]["suspend"] = wanted["spec"]["suspend"] = True
    assert update(wanted, old).messages == []


def test_elastic_indexed_jobs() -> None:
    old = create(job(completionMode="Indexed", completions=3, parallelism=3)).obj
    assert update(changed(old, completions=5, parallelism=5), old).messages == []
    (message,) = update(changed(old, completions=5), old).messages
    assert message == (
        "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"
    )


def test_failure_policy_rules() -> None:
    rules = [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0, 0]}},
        {"action": "Sometimes"},
    ]
    messages = create(job(podFailurePolicy={"rules": rules})).messages
    path = "spec.podFailurePolicy.rules"
    assert (
        f"{path}[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"
        in messages
    )
    assert f"{path}[0].onExitCodes.values[1]: Duplicate value: 0" in messages
    assert (
        f'{path}[1].action: Unsupported value: "Sometimes": supported values: "Count", '
        f'"FailIndex", "FailJob", "Ignore"' in messages
    )
    assert (
        f"{path}[1]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
        in messages
    )


def test_table() -> None:
    obj = create(job(completions=3)).obj
    obj["status"] = {"succeeded": 1, "startTime": "2026-01-02T03:03:05Z"}
    row = cells(obj)
    assert (row["Status"], row["Completions"], row["Duration"], row["Images"]) == (
        "Running",
        "1/3",
        "60s",
        "i:1",
    )
    obj["status"]["conditions"] = [{"type": "Complete", "status": "True"}]
    assert cells(obj)["Status"] == "Complete"


def cronjob(schedule: str = "0 * * * *", **spec: object) -> dict[str, object]:
    template = {
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}
            }
        }
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "n"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }


def test_cronjob_defaults_and_table() -> None:
    made = create(cronjob())
    assert made.messages == []
    spec = made.obj["spec"]
    assert (
        spec["concurrencyPolicy"],
        spec["suspend"],
        spec["successfulJobsHistoryLimit"],
        spec["failedJobsHistoryLimit"],
    ) == (
        "Allow",
        False,
        3,
        1,
    )
    row = cells(made.obj)
    assert (
        row["Schedule"],
        row["Timezone"],
        row["Suspend"],
        row["Active"],
        row["Last Schedule"],
    ) == (
        "0 * * * *",
        "<none>",
        "False",
        0,
        "<none>",
    )


def test_cronjob_rules() -> None:
    messages = create(cronjob("bad", timeZone="Local", concurrencyPolicy="Maybe")).messages
    assert messages == [
        'spec.schedule: Invalid value: "bad": expected exactly 5 fields, found 1: [bad]',
        'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined '
        "in https://www.iana.org/time-zones",
        'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", '
        '"Replace"',
    ]
    long = cronjob()
    long["metadata"] = {"name": "n" * 53}
    assert [e.detail for e in create(long).errors] == ["must be no more than 52 characters"]


def test_an_update_tells_of_the_schedule_first() -> None:
    old = create(cronjob()).obj
    new = changed(old, schedule="bad", concurrencyPolicy="Maybe")
    assert [message.split(":")[0] for message in update(new, old).messages] == [
        "spec.schedule",
        "spec.concurrencyPolicy",
    ]


def test_what_a_failure_rule_needs_is_listed_as_go_lists() -> None:
    wanted = job(podFailurePolicy={"rules": [{"action": "", "onExitCodes": {"values": [1]}}]})
    assert create(wanted).messages == [
        "spec.podFailurePolicy.rules[0].action: Required value: valid values: "
        '["Count" "FailIndex" "FailJob" "Ignore"]',
        "spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values: "
        '["In" "NotIn"]',
    ]


def test_indexes_that_do_not_parse_count_as_none() -> None:
    policy = {"rules": [{"succeededIndexes": "x", "succeededCount": 1}]}
    made = create(job(completions=2, completionMode="Indexed", successPolicy=policy))
    assert made.messages == [
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "x": error parsing '
        'succeededIndexes: cannot convert string to integer for index: "x"',
        "spec.successPolicy.rules[0].succeededCount: Invalid value: 1: must be less than or equal "
        "to 0 (the number of indexes in the specified succeededIndexes field)",
    ]


def test_a_grown_job_may_outgrow_its_name() -> None:
    wanted = job(completions=10, parallelism=10, completionMode="Indexed")
    wanted["metadata"] = {"name": "x" * 61}
    old = create(wanted).obj
    new = changed(old, completions=11, parallelism=11)
    assert update(new, old).messages == [
        f'metadata.name: Invalid value: "{"x" * 61}": will not able to create pod with invalid '
        f"DNS label: {'x' * 61}-10"
    ]


def test_many_indexes_are_warned_of_where_they_stand() -> None:
    many = {"completions": 10**5 + 1, "parallelism": 10**4 + 1, "completionMode": "Indexed"}
    made = create(job(**many))
    assert [w.partition(":")[0] for w in made.warnings] == ["spec"]
    assert "track completedIndexes" in made.warnings[0]
    assert update({**made.obj, "metadata": dict(made.obj["metadata"])}, made.obj).warnings == []
    template = {"spec": job(**many)["spec"]}
    cron = create(cronjob("0 * * * *", jobTemplate=template))
    assert [w.partition(":")[0] for w in cron.warnings] == ["spec.jobTemplate.spec"]


def test_a_zone_is_none_of_the_host() -> None:
    assert create(cronjob("0 * * * *", timeZone="LOCAL")).messages == [
        'spec.timeZone: Invalid value: "LOCAL": timeZone must be an explicit time zone as defined '
        "in https://www.iana.org/time-zones",
        'spec.timeZone: Invalid value: "LOCAL": unknown time zone LOCAL',
    ]


def test_a_zone_in_a_schedule_stays_where_it_is() -> None:
    old = create(cronjob("0 * * * *")).obj
    old["spec"]["schedule"] = "TZ=UTC 0 * * * *"
    new = changed(old, suspend=True)
    made = update(new, old)
    assert made.messages == []
    assert [w[:46] for w in made.warnings] == ["cannot use TZ or CRON_TZ in spec.spec.schedule"]
    assert update(changed(new, timeZone="UTC"), old).messages == [
        'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use both timeZone field and TZ '
        "or CRON_TZ in schedule"
    ]
