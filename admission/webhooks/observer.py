"""What is counted about admission webhooks; whoever runs the server says where. Source of the
occasions: k8s.io/apiserver ``admission/metrics/metrics.go``."""

from __future__ import annotations

from typing import NamedTuple

CALLING_ERROR = "calling_webhook_error"
INTERNAL_ERROR = "apiserver_internal_error"
NO_ERROR = "no_error"


class Called(NamedTuple):
    """A call of a webhook. tenant: its number; name: of the webhook; step: "admit" or
    "validating"."""

    tenant: int
    name: str
    step: str
    operation: str


class Observer:
    """This one counts nothing."""

    def called(self, call: Called, seconds: float, code: int, *, rejected: bool) -> None:
        """A call has ended. code: of the HTTP status, 0 for an error of this server."""

    def rejected(self, call: Called, error: str, code: int) -> None:
        """The request is refused. error: one of this module's."""

    def failed(self, call: Called, why: str) -> None:
        """The call failed, whatever becomes of the request."""

    def failed_open(self, call: Called) -> None:
        """The call failed, and the request goes on."""

    def excluded(self, call: Called) -> None:
        """A match condition was false."""

    def conditions_failed(self, call: Called) -> None:
        """A match condition could not be evaluated."""
