"""What all patches share: copies of JSON values, and the refusal of a patch that does not fit."""

from __future__ import annotations

from typing import Any

from apiserver.errors import ApiError


class PatchRefused(ApiError):
    """422 for a well-formed patch that cannot be applied; kube-apiserver says no more than this to the client.

    ``why`` is for logs and tests."""

    code, reason = 422, "Invalid"

    def __init__(self, why: str) -> None:
        super().__init__("the server rejected our request due to an error in our request", details={})
        self.why = why


def copy_value(value: Any) -> Any:
    """A copy that shares no container with ``value``."""
    if isinstance(value, dict):
        return {k: copy_value(v) for k, v in value.items()}
    if isinstance(value, list):
        return [copy_value(v) for v in value]
    return value
