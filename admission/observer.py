"""What is counted about plugins; whoever runs the server says where. Source of the occasions:
k8s.io/apiserver ``admission/metrics/metrics.go``."""

from __future__ import annotations

from collections.abc import Callable

ADMIT, VALIDATE = "admit", "validate"
"""Steps of admission."""
WHOLE = ""
"""The name under which a step is counted as a whole."""

Took = Callable[[str, str, str, bool, float], None]
"""(name of a plugin, or `WHOLE`; step; operation; whether it refused the request, or failed;
seconds)."""


def _nobody(name: str, step: str, operation: str, rejected: bool, seconds: float) -> None:
    return None


class Observer:
    """This one counts nothing."""

    def of(self, tenant: int) -> Took:
        """To be called for what is done for a request of the tenant."""
        return _nobody
