"""Whatever goes wrong becomes a Status here, and nowhere else."""

from __future__ import annotations

import logging

from django.http import HttpResponse

from apiserver.codec import negotiate
from apiserver.endpoints.encode import respond, wants_pretty
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import ApiError, Overloaded
from apiserver.registry.translate import unavailable
from apiserver.storage.errors import TenantGone, Unavailable

log = logging.getLogger("polyplane.api")


def failure(request: ApiRequest, error: Exception) -> HttpResponse:
    """Any exception as a Status. What nobody foresaw is logged with the audit id and tells the
    client nothing else."""
    if isinstance(error, Unavailable | TenantGone):
        log.warning("storage: audit-id=%s %s", request.logged_audit_id, error)
        error = unavailable(error)
    if not isinstance(error, ApiError):
        request.panicked = True
        log.error(
            "request failed: audit-id=%s %s %s",
            request.logged_audit_id,
            request.method,
            request.path,
            exc_info=error,
        )
        error = ApiError(
            f"an error on the server prevented the request from succeeding (audit id "
            f"{request.logged_audit_id})",
            reason="InternalError",
            code=500,
        )
    request.failed = error
    if isinstance(error, Overloaded):
        response = HttpResponse(
            f"{error.message}\n", status=error.code, content_type="text/plain; charset=utf-8"
        )
        response["Retry-After"] = str(error.retry_after)
        return response
    # what a request meets on its way to a resource knows no CBOR
    supported = negotiate.ALL if request.served is not None else negotiate.DISCOVERY
    kind = negotiate.negotiate_error(
        request.header(b"accept"), supported, pretty=wants_pretty(request)
    )
    response = respond(error.to_status(), kind, error.code)
    if error.retry_after:
        response["Retry-After"] = str(error.retry_after)
    return response
