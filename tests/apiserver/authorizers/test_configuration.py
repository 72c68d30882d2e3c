"""AuthorizationConfiguration: what is wrong with one, in kube-apiserver's words."""

from __future__ import annotations

from typing import Any

import pytest

from admission.config import ConfigError
from apiserver.authorizers.configuration import of_modes, read
from apiserver.authorizers.webhook import Settings

GOOD: dict[str, Any] = {
    "timeout": "3s",
    "subjectAccessReviewVersion": "v1",
    "matchConditionSubjectAccessReviewVersion": "v1",
    "failurePolicy": "NoOpinion",
    "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/there"},
    "matchConditions": [{"expression": "request.user != 'x'"}],
}


def document(*authorizers: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": list(authorizers),
        **more,
    }


def hook(name: str = "w", **changes: Any) -> dict[str, Any]:
    webhook = {k: v for k, v in {**GOOD, **changes}.items() if v is not None}
    return {"type": "Webhook", "name": name, "webhook": webhook}


def problem(path: str) -> str:
    return "" if path == "/there" else f"error loading file: stat {path}: no such file or directory"


def wrong(made: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(made, problem)
    return str(caught.value)


RBAC = {"type": "RBAC", "name": "rbac"}


def test_defaults_and_order() -> None:
    first, second, third = read(
        document(hook(), RBAC, hook("other", cacheAuthorizedRequests=False, unauthorizedTTL="1m")),
        problem,
    )
    assert (first.type, second.type, second.called) == ("Webhook", "RBAC", None)
    assert first.called is not None and third.called is not None
    assert first.called.settings == Settings("v1", 300.0, 30.0, False)
    assert (first.called.timeout, first.called.kubeconfig) == (3.0, "/there")
    assert first.called.conditions == ("request.user != 'x'",)
    assert third.called.settings == Settings("v1", 0.0, 60.0, False)


AT = "authorizers[0]."
CONDITION = AT + "matchConditions[0].expression: "


@pytest.mark.parametrize(
    ("authorizers", "text"),
    [
        ([], "authorizers: Required value: at least one authorization mode must be defined"),
        ([{"name": "x"}], f"{AT}type: Required value"),
        (
            [{"type": "Magic", "name": "x"}],
            f'{AT}type: Unsupported value: "Magic": supported values: "AlwaysAllow", "AlwaysDeny", '
            '"Node", "RBAC", "Webhook"',
        ),
        ([RBAC, RBAC], 'authorizers[1].type: Duplicate value: "RBAC"'),
        ([{"type": "RBAC"}], f"{AT}name: Required value"),
        ([hook(), hook()], 'authorizers[1].name: Duplicate value: "w"'),
        ([{"type": "RBAC", "name": "r"}], "expected name rbac for authorizer RBAC instead of r"),
        ([{"type": "Webhook", "name": "w"}], f"{AT}webhook: Required value: required when type=W"),
        (
            [{**hook(), "type": "RBAC", "name": "rbac"}],
            f'{AT}webhook: Invalid value: "non-null": may only be specified when type=Webhook',
        ),
        ([hook("W")], f'{AT}name: Invalid value: "W": authorizer name is invalid: a lowercase RFC'),
        ([hook(timeout=None)], f"{AT}timeout: Required value"),
        ([hook(timeout="31s")], f'{AT}timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ([hook(timeout="-1s")], f'{AT}timeout: Invalid value: "-1s": must be > 0s and <= 30s'),
        ([hook(authorizedTTL="-1m")], f'{AT}authorizedTTL: Invalid value: "-1m0s": must be > 0s'),
        ([hook(unauthorizedTTL="-1s")], f'{AT}unauthorizedTTL: Invalid value: "-1s": must be > 0s'),
        (
            [hook(subjectAccessReviewVersion="v2")],
            f'{AT}subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", '
            '"v1beta1"',
        ),
        (
            [hook(matchConditionSubjectAccessReviewVersion=None)],
            f"{AT}matchConditionSubjectAccessReviewVersion: Required value: required if match "
            "conditions are specified",
        ),
        ([hook(failurePolicy=None)], f"{AT}failurePolicy: Required value"),
        (
            [hook(failurePolicy="Fail")],
            f'{AT}failurePolicy: Unsupported value: "Fail": supported values: "NoOpinion", "Deny"',
        ),
        ([hook(connectionInfo={})], f"{AT}connectionInfo.type: Required value"),
        (
            [hook(connectionInfo={"type": "KubeConfigFile"})],
            f"{AT}connectionInfo.kubeConfigFile: Required value",
        ),
        (
            [hook(connectionInfo={"type": "KubeConfigFile", "kubeConfigFile": "x"})],
            f'{AT}connectionInfo.kubeConfigFile: Invalid value: "x": must be an absolute path',
        ),
        (
            [hook(connectionInfo={"type": "KubeConfigFile", "kubeConfigFile": "/x"})],
            f'{AT}connectionInfo.kubeConfigFile: Invalid value: "/x": error loading file: stat /x',
        ),
        (
            [hook(connectionInfo={"type": "InClusterConfig"})],
            f'{AT}connectionInfo.type: Invalid value: "InClusterConfig"',
        ),
        ([hook(connectionInfo={"type": "Magic"})], f"{AT}connectionInfo.type: Unsupported value"),
        ([hook(matchConditions=[{"expression": " "}])], f"{CONDITION}Required value"),
        (
            [hook(matchConditions=[{"expression": "true"}] * 2)],
            f'{AT}matchConditions[1].expression: Duplicate value: "true"',
        ),
        (
            [hook(matchConditions=[{"expression": "1"}])],
            f'{CONDITION}Invalid value: "1": must evaluate to bool but got int',
        ),
        (
            [hook(matchConditions=[{"expression": "object.x"}])],
            f'{CONDITION}Invalid value: "object.x": compilation failed: ERROR',
        ),
        (
            [hook(matchConditions=[{"expression": "request.nothing == ''"}])],
            f"{CONDITION}Invalid value: \"request.nothing == ''\": compilation failed: ERROR",
        ),
        (
            [hook(matchConditions=[{"expression": f"{i} == {i}"} for i in range(65)])],
            f"{AT}matchConditions: Too many: 65: must have at most 64 items",
        ),
    ],
)
def test_what_is_wrong_is_named(authorizers: list[Any], text: str) -> None:
    assert text in wrong(document(*authorizers))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ([], "the document must be a mapping"),
        (document(RBAC, kind="X"), "kind must be AuthorizationConfiguration"),
        (document(RBAC, apiVersion="v1"), "apiVersion must be apiserver.config.k8s.io/v1"),
        (document({**RBAC, "nmae": "x"}), "authorizers[0].nmae is no field"),
        (document(hook(timeut="3s")), "authorizers[0].webhook.timeut is no field"),
        (document(hook(timeout=3)), "authorizers[0].webhook.timeout must be a string"),
        (document(hook(timeout="3")), 'time: missing unit in duration "3"'),
    ],
)
def test_a_document_of_another_shape_is_refused(made: Any, text: str) -> None:
    assert wrong(made).startswith("failed to load AuthorizationConfiguration from file: ")
    assert text in wrong(made)


def test_everything_wrong_is_told_at_once() -> None:
    text = wrong(document(hook(timeout=None, failurePolicy=None)))
    assert (
        text
        == "[authorizers[0].timeout: Required value, authorizers[0].failurePolicy: Required value]"
    )


def test_modes_are_names_of_authorizers() -> None:
    assert [(c.type, c.name) for c in of_modes(["RBAC", "AlwaysDeny"])] == [
        ("RBAC", "rbac"),
        ("AlwaysDeny", "alwaysdeny"),
    ]
    for modes, text in (
        (["ABAC"], '"ABAC" is not a valid mode'),
        (["Webhook"], '"Webhook" is not a valid mode'),
        (["RBAC", "RBAC"], "has mode specified more than once"),
    ):
        with pytest.raises(ConfigError, match=text):
            of_modes(modes)
