"""The webhook client as the operator wants it: POLYPLANE_WEBHOOK_* (docs/operations.md, docs/tenancy.md)."""

from __future__ import annotations

from django.conf import settings

from admission.webhooks.addresses import DENIED, AddressPolicy, Network, networks
from admission.webhooks.client import TIMEOUT, WebhookClient
from controlplane import environment
from controlplane.errors import OperatorError


def webhook_client() -> WebhookClient:
    """Raises OperatorError. A server that listens on loopback alone is somebody's own, and so are the webhooks beside it."""
    own = settings.POLYPLANE_BIND in ("localhost", "::1") or settings.POLYPLANE_BIND.startswith("127.")
    policy = AddressPolicy(
        denied=networks(DENIED) + _networks("WEBHOOK_DENIED_NETWORKS"),
        allowed=_networks("WEBHOOK_ALLOWED_NETWORKS"),
        loopback=environment.flag("WEBHOOK_LOOPBACK", own),
    )
    return WebhookClient(policy, float(environment.number("WEBHOOK_TIMEOUT_SECONDS", int(TIMEOUT), least=1, most=300)))


def _networks(name: str) -> tuple[Network, ...]:
    try:
        return networks(environment.words(name))
    except ValueError as e:
        raise OperatorError(f"POLYPLANE_{name}: {e}.", "write networks like 10.0.0.0/8,fd00::/8.") from e
