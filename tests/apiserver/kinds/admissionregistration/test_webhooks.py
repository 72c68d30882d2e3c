from __future__ import annotations

import pytest

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
