"""What a client is told when an admission webhook refuses (k8s.io/apiserver
``admission/plugin/webhook/errors/statuserror.go``) or could not be asked."""

from __future__ import annotations

from typing import Any

from apiserver.errors import ApiError, BadRequest, InternalError
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object

_HIGHEST = 599
"""What is above is no status of HTTP, and clients take it for a broken answer."""


class Denied(ApiError):
    """The webhook said no, in its own words: code, reason, message and details of its Status."""

    def __init__(self, name: str, status: Object | None) -> None:
        status = status or {}
        why = status.get("message") or status.get("reason")
        message = f"admission webhook {go_quote(name)} denied the request"
        message += f": {why}" if why else " without explanation"
        code = status.get("code") or 0
        super().__init__(
            message,
            details=status.get("details"),
            code=max(code, 400) if code <= _HIGHEST else 500,
            reason=status.get("reason") or "",
        )
        self.metadata: dict[str, Any] = status.get("metadata") or {}


class DryRunUnsupported(BadRequest):
    """The webhook may have effects outside of this server, and was not asked."""

    def __init__(self, name: str) -> None:
        super().__init__(f"admission webhook {go_quote(name)} does not support dry run")


class CallFailure(Exception):
    """The webhook could not be asked, or its answer is none: what failurePolicy is about. code: of
    the HTTP status that metrics show."""

    def __init__(self, name: str, why: str, code: int) -> None:
        super().__init__(f"failed calling webhook {go_quote(name)}: {why}")
        self.code = code

    def refusal(self) -> InternalError:
        """What a client is told under failurePolicy Fail."""
        return InternalError(str(self))
