from __future__ import annotations

from typing import Any

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.authz.reviews import (
    local_subject_access_review,
    self_subject_access_review,
    self_subject_rules_review,
    subject_access_review,
)
from apiserver.errors import BadRequest, Invalid
from apiserver.user import User


class Recorder:
    def __init__(self, decision: Decision | None = None) -> None:
        self.decision = decision or Decision(True, "because")
        self.asked: list[Attributes] = []

    async def __call__(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return self.decision


def review(**spec: Any) -> dict[str, Any]:
    return {"kind": "SubjectAccessReview", "metadata": {}, "spec": spec}


PODS = {"verb": "list", "resource": "pods", "namespace": "ns"}
TWO_WAYS = {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "?"}]}


async def test_the_answer_is_in_the_status_and_the_question_stays() -> None:
    asked = Recorder()
    question = review(user="u", groups=["g"], uid="1", extra={"k": ["v"]}, resourceAttributes=PODS)
    answer = await subject_access_review(question, asked)
    assert answer == {**question, "status": {"allowed": True, "reason": "because"}}
    user = User("u", "1", ("g",), {"k": ("v",)})
    assert asked.asked == [Attributes(user, "list", resource="pods", namespace="ns", version="*")]


async def test_a_no_is_only_allowed_false_and_a_hard_no_is_denied() -> None:
    question = review(user="u", nonResourceAttributes={"path": "/x", "verb": "get"})
    assert (await subject_access_review(question, Recorder(Decision(False))))["status"] == {
        "allowed": False
    }
    assert (await subject_access_review(question, Recorder(Decision(False, "", True))))[
        "status"
    ] == {"allowed": False, "denied": True}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"resourceAttributes": PODS},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            {"user": "u"},
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or "
            "resourceAttributes must be specified",
        ),
        (
            {
                "user": "u",
                "resourceAttributes": PODS,
                "nonResourceAttributes": {"path": "/", "verb": "get"},
            },
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: '
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            {
                "user": "u",
                "resourceAttributes": {**PODS, "labelSelector": TWO_WAYS},
            },
            'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not '
            "specified at the same time as requirements",
        ),
        (
            {"user": "u", "resourceAttributes": {**PODS, "fieldSelector": {}}},
            "spec.resourceAttributes.fieldSelector.requirements: Required value: when "
            "spec.resourceAttributes.fieldSelector is specified, "
            "requirements or rawSelector is required",
        ),
    ],
)
async def test_senseless_reviews_are_refused_without_a_kind(
    spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await subject_access_review(review(**spec), Recorder())
    assert refused.value.message == f'.authorization.k8s.io "" is invalid: {message}'


async def test_selectors_become_requirements_and_bad_ones_are_left_out() -> None:
    asked = Recorder()
    fields = {
        "requirements": [
            {"key": "spec.nodeName", "operator": "In", "values": ["n"]},
            {"key": "x", "operator": "Future"},
        ]
    }
    question = review(
        user="u",
        resourceAttributes={
            **PODS,
            "fieldSelector": fields,
            "labelSelector": {"rawSelector": "a in (b"},
        },
    )
    answer = await subject_access_review(question, asked)
    assert [str(r) for r in asked.asked[0].field_requirements] == ["spec.nodeName=n"]
    assert asked.asked[0].label_requirements == ()
    assert answer["status"]["evaluationError"] == (
        "spec.resourceAttributes.fieldSelector partially ignored due to parse error; "
        "spec.resourceAttributes.labelSelector ignored due to parse error"
    )


async def test_local_reviews_stay_in_their_namespace() -> None:
    local = {"metadata": {"namespace": "ns"}, "spec": {"user": "u", "resourceAttributes": PODS}}
    assert (await local_subject_access_review(local, "ns", Recorder()))["status"]["allowed"]
    with pytest.raises(
        BadRequest, match=r"spec\.resourceAttributes\.namespace must match namespace: other"
    ):
        await local_subject_access_review(local, "other", Recorder())
    away = {
        "metadata": {"namespace": "ns"},
        "spec": {"user": "u", "resourceAttributes": {**PODS, "namespace": "x"}},
    }
    with pytest.raises(
        Invalid,
        match=(
            r'spec\.resourceAttributes\.namespace: Invalid value: "x": must match '
            r"metadata.namespace"
        ),
    ):
        await local_subject_access_review(away, "ns", Recorder())


async def test_self_reviews_ask_for_the_caller() -> None:
    asked = Recorder()
    me = User("me", groups=("g",))
    await self_subject_access_review(review(resourceAttributes=PODS), me, asked)
    assert asked.asked[0].user is me


async def test_the_rules_review_lists_rules_by_kind_and_drops_the_spec() -> None:
    async def rules(user: User, namespace: str) -> UserRules:
        assert (user.name, namespace) == ("me", "ns")
        return UserRules(
            [
                {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
                {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            ],
            ["lost"],
        )

    answer = await self_subject_rules_review(review(namespace="ns"), User("me"), rules)
    assert answer["spec"] == {} and answer["status"] == {
        "incomplete": False,
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
        "evaluationError": "lost",
    }
    with pytest.raises(BadRequest, match="no namespace on request"):
        await self_subject_rules_review(review(), User("me"), rules)
