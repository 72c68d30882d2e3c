"""What is counted about policies; whoever runs the server says where. Source of the occasions:
k8s.io/apiserver ``policy/{validating,mutating}/metrics``."""

from __future__ import annotations

from typing import NamedTuple

NO_ERROR = "no_error"
COMPILE_ERROR = "compile_error"
INVALID_ERROR = "invalid_error"
BUDGET_ERROR = "out_of_budget"

ALLOW = "allow"
DENY = "deny"


class Checked(NamedTuple):
    """An evaluation of a policy for a request. tenant: its number; kind: validating or mutating;
    binding: "" where the policy itself cannot be evaluated."""

    tenant: int
    kind: str
    policy: str
    binding: str


class Observer:
    """This one counts nothing."""

    def checked(self, check: Checked, seconds: float, error: str, action: str) -> None:
        """error: one of this module's; action: what came of it: allow, deny, warn or audit."""

    def failed(self, check: Checked, why: str) -> None:
        """An expression, or all of it, could not be evaluated."""
