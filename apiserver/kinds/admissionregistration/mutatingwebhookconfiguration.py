"""MutatingWebhookConfiguration."""

from __future__ import annotations

from apiserver.kinds.admissionregistration.rules import GROUP
from apiserver.kinds.admissionregistration.webhooks import WebhookConfiguration
from apiserver.kinds.registration import register


@register(GROUP, "MutatingWebhookConfiguration")
class MutatingWebhookConfiguration(WebhookConfiguration):
    mutating = True
