"""Who gets which names, and what the conditions say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.apiextensions.approval import approval
from apiserver.meta.objects import Object
from tests.support.definitions import (
    CONTEXT,
    NOW,
    crd_resource,
    create_errors,
    definition,
    established,
    prepared,
)


def settled(sent: Object, *others: Object) -> Object:
    crd = prepared(sent)
    conditions.settle(crd, others, NOW)
    return crd


def texts(crd: Object) -> dict[str, tuple[str, str, str]]:
    return {
        c["type"]: (c["status"], c["reason"], c["message"]) for c in crd["status"]["conditions"]
    }


def test_free_names_are_accepted_and_the_definition_is_established() -> None:
    crd = settled(definition())
    assert crd["status"]["acceptedNames"] == {
        "plural": "foos",
        "singular": "foo",
        "kind": "Foo",
        "listKind": "FooList",
    }
    assert texts(crd) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }


def test_a_kind_that_is_taken_in_the_group_keeps_a_definition_from_being_served() -> None:
    second = definition(kind="Bar")
    second["spec"]["names"] = {
        "plural": "bars",
        "singular": "bar",
        "kind": "Foo",
        "listKind": "BarList",
    }
    crd = settled(second, established(definition()))
    assert crd["status"]["acceptedNames"] == {
        "plural": "bars",
        "singular": "bar",
        "kind": "",
        "listKind": "BarList",
    }
    assert texts(crd)["NamesAccepted"] == ("False", "KindConflict", '"Foo" is already in use')
    assert texts(crd)["Established"] == ("False", "NotAccepted", "not all names are accepted")
    assert not conditions.is_served(crd)


def test_another_group_takes_nothing_away() -> None:
    assert conditions.is_served(
        settled(definition(), established(definition(group="other.example.com")))
    )


def test_an_established_definition_stays_so_when_a_new_short_name_is_taken() -> None:
    first = definition()
    first["spec"]["names"]["shortNames"] = ["f"]
    second = settled(definition(kind="Bar"))
    second["spec"]["names"]["shortNames"] = ["f", "b"]
    conditions.settle(second, [established(first), second], NOW)
    assert texts(second)["NamesAccepted"] == (
        "False",
        "ShortNamesConflict",
        '"f" is already in use',
    )
    assert conditions.is_true(second, "Established")
    assert "shortNames" not in second["status"]["acceptedNames"]


def test_one_that_gives_up_a_name_that_it_did_not_get_keeps_the_condition() -> None:
    first = definition()
    first["spec"]["names"]["shortNames"] = ["f"]
    second = settled(definition(kind="Bar"))
    second["spec"]["names"]["shortNames"] = ["f"]
    conditions.settle(second, [established(first), second], NOW)
    second["spec"]["names"]["shortNames"] = []
    conditions.settle(second, [established(first), second], NOW)
    assert texts(second)["NamesAccepted"] == (
        "False",
        "ShortNamesConflict",
        '"f" is already in use',
    )
    assert conditions.is_served(second)


def test_settling_again_changes_nothing() -> None:
    crd = settled(definition())
    before = dict(crd["status"])
    conditions.settle(crd, [crd], NOW + timedelta(hours=1))
    assert crd["status"] == before


def test_a_group_of_the_community_needs_an_approval() -> None:
    approved = definition(group="x.k8s.io")
    approved["metadata"]["annotations"] = {
        "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"
    }
    assert texts(settled(approved))["KubernetesAPIApprovalPolicyConformant"][:2] == (
        "True",
        "ApprovedAnnotation",
    )
    bypassed = definition(group="x.k8s.io")
    bypassed["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, experimental"}
    assert texts(settled(bypassed))["KubernetesAPIApprovalPolicyConformant"][:2] == (
        "False",
        "UnapprovedAnnotation",
    )


@pytest.mark.parametrize(
    ("annotation", "state"),
    [
        ("", "missing"),
        ("unapproved, experimental-only", "bypassed"),
        ("Unapproved", "invalid"),
        ("https://github.com/kubernetes/kubernetes/pull/78458", "approved"),
        ("github.com/kubernetes/kubernetes/pull/78458", "invalid"),
        ("http:///kubernetes/pull/78458", "invalid"),
        ("https://a b", "invalid"),
        ("/", "invalid"),
    ],
)
def test_approvals(annotation: str, state: str) -> None:
    assert approval({"api-approved.kubernetes.io": annotation})[0] == state


def test_a_broken_ca_bundle_keeps_a_definition_from_being_served_and_may_not_come_later() -> None:
    crd = definition()
    client = {"url": "https://a.example.com", "caBundle": "Q2c9PQ=="}
    crd["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    assert create_errors(crd) == []
    assert texts(settled(crd))["Established"] == (
        "False",
        "InvalidCABundle",
        "The conversion webhook CABundle is invalid",
    )
    old = established(definition())
    new = {**old, "spec": {**old["spec"], "conversion": crd["spec"]["conversion"]}}
    assert [str(e) for e in crd_resource().hooks.validate_update(new, old, CONTEXT)] == [
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: "Q2c9PQ==": unable to load '
        "root certificates: unable to parse bytes "
        "as PEM block"
    ]
