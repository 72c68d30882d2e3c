"""The webhook client as the operator wants it: POLYPLANE_WEBHOOK_* (docs/operations.md,
docs/tenancy.md)."""

from __future__ import annotations

from django.conf import settings

from admission.webhooks.addresses import DENIED, AddressPolicy, networks
from admission.webhooks.client import TIMEOUT, WebhookClient
from controlplane import environment


def address_policy() -> AddressPolicy:
    """Which addresses this server calls because somebody named them. Raises OperatorError. A server
    that listens on loopback alone is somebody's own, and so are the webhooks beside it."""
    own = settings.POLYPLANE_BIND in ("localhost", "::1") or settings.POLYPLANE_BIND.startswith(
        "127."
    )
    return AddressPolicy(
        denied=networks(DENIED) + environment.networks("WEBHOOK_DENIED_NETWORKS"),
        allowed=environment.networks("WEBHOOK_ALLOWED_NETWORKS"),
        loopback=environment.flag("WEBHOOK_LOOPBACK", own),
    )


def webhook_client() -> WebhookClient:
    """Raises OperatorError."""
    return WebhookClient(
        address_policy(),
        float(environment.number("WEBHOOK_TIMEOUT_SECONDS", int(TIMEOUT), least=1, most=300)),
    )
