"""What all patches share: copies of JSON values, and the refusal of a patch that does not fit."""

from __future__ import annotations

from apiserver.errors import ApiError


class PatchRefused(ApiError):
    """422 for a well-formed patch that cannot be applied; kube-apiserver says no more than this to
    the client.

    ``why`` is for logs and tests."""

    code, reason = 422, "Invalid"

    def __init__(self, why: str) -> None:
        super().__init__(
            "the server rejected our request due to an error in our request", details={}
        )
        self.why = why
