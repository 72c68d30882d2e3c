from __future__ import annotations

import pytest

from apiserver.fielderrors import FieldPath
from apiserver.kinds.common.client_config import client_config_errors
from tests.support.kindtools import create


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_a_name_that_is_taken_is_told_after_what_else_is_wrong_with_a_webhook(kind: str) -> None:
    hook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://example.com"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": [{"name": "", "expression": "true"}],
    }
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "c"},
        "webhooks": [hook, {**hook, "admissionReviewVersions": ["v9"]}],
    }
    named = "matchConditions[0].name: Required value"
    assert create(body).messages == [
        f"webhooks[0].{named}",
        f"webhooks[1].{named}",
        'webhooks[1].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of '
        "v1, v1beta1",
        'webhooks[1].name: Duplicate value: "a.example.com"',
    ]


@pytest.mark.parametrize(
    ("url", "messages"),
    [
        (
            "a b:c",
            [
                'Required value: url must be a valid URL: parse "a b:c": first path segment in '
                "URL cannot contain colon{}"
            ],
        ),
        (
            "https://a/%zz",
            [
                'Required value: url must be a valid URL: parse "https://a/%zz": invalid URL '
                'escape "%zz"{}'
            ],
        ),
        ("https://a:99999999", []),
        ("https://u:p@/", ['Invalid value: "": host must be specified{}', "USER"]),
        ("HTTPS://a", []),
    ],
)
def test_urls_are_read_as_go_reads_them(url: str, messages: list[str]) -> None:
    form, at = "; desired format: https://host[/path]", "clientConfig.url"
    user = 'Invalid value: "u:p": user information is not permitted in the URL'
    found = client_config_errors({"url": url}, FieldPath("clientConfig"))
    expected = [message.replace("USER", user).replace("{}", form) for message in messages]
    assert [str(e) for e in found] == [f"{at}: {message}" for message in expected]
