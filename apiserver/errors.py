"""One exception tree for everything that a client may be told, and one way from it to a Status
object.

Sources: k8s.io/apimachinery ``api/errors`` for messages, reasons and details; the recorded answers
where they say more. Raise the exception that holds the facts; only the HTTP boundary calls
to_status().

kube-apiserver answers with as many errors as there are, each of which may quote the whole object: a
request of 61 KB has made an answer of 600 MB. Here the message and the causes of one answer take at
most `MOST_BYTES` each, whatever the request was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from apiserver.fielderrors import FieldError
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.jsontext import cut_to_size, json_size

Status = dict[str, Any]
Cause = dict[str, str]

MOST_ERRORS = 1000
"""Field errors that one answer tells of."""
MOST_BYTES = 400 * 1024
"""Bytes of JSON that the message of an answer takes, and all its causes together: both and the rest
are less than 1 MiB."""
_MOST_NAME_BYTES = 32 * 1024
"""Of each other text in an answer, such as the name of the object: far more than a valid one can
have."""
_CAUSE_BYTES = 64
"""What JSON spends on a cause beside its texts."""


class ApiError(Exception):
    """code: HTTP status; reason: metav1.StatusReason ("" leaves it out); details as in
    Status.details (None leaves them out)."""

    code = 500
    reason = ""

    def __init__(
        self,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        code: int | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.metadata: dict[str, Any] = {}
        """Status.metadata; only an expired list has something to say there (how to go on)."""
        if code is not None:
            self.code = code
        if reason is not None:
            self.reason = reason

    @property
    def retry_after(self) -> int:
        """Seconds for the Retry-After header; 0 sends none."""
        return int((self.details or {}).get("retryAfterSeconds", 0))

    def to_status(self) -> Status:
        """What the client is told, bounded in size."""
        status: Status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
        }
        if self.message:
            status["message"] = cut_to_size(self.message, MOST_BYTES)
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = _bounded_details(self.details)
        status["code"] = self.code
        return status


def _bounded_details(details: dict[str, Any]) -> dict[str, Any]:
    bounded = {
        k: cut_to_size(v, _MOST_NAME_BYTES) if isinstance(v, str) else v for k, v in details.items()
    }
    if "causes" in details:
        bounded["causes"] = list(_fitting(details["causes"]))
    return bounded


def _fitting(causes: Iterable[Cause]) -> Iterator[Cause]:
    """The first causes, as many as an answer has room for; one at least, its texts cut where they
    alone are too long."""
    room = MOST_BYTES
    for cause in causes:
        size = _CAUSE_BYTES + sum(map(json_size, cause.values()))
        if size > MOST_BYTES // 2:
            cause = {name: cut_to_size(text, MOST_BYTES // 4) for name, text in cause.items()}
            size = _CAUSE_BYTES + sum(map(json_size, cause.values()))
        if size > room:
            return
        room -= size
        yield cause


def resource_details(resource: GroupResource, name: str = "", **more: Any) -> dict[str, Any]:
    """Status.details of one object; empty members are left out as Go's omitempty does."""
    details = {"name": name, "group": resource.group, "kind": resource.resource, **more}
    return {k: v for k, v in details.items() if v}


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"

    def __init__(self, message: str = "Unauthorized") -> None:
        super().__init__(message)


class Forbidden(ApiError):
    """``why`` follows "is forbidden: "; name "" for a collection."""

    code, reason = 403, "Forbidden"

    def __init__(self, resource: GroupResource, name: str, why: str) -> None:
        if not resource.group and not resource.resource:
            message = f"forbidden: {why}"
        else:
            message = (
                f"{resource} {go_quote(name)} is forbidden: {why}"
                if name
                else f"{resource} is forbidden: {why}"
            )
        super().__init__(message, details=resource_details(resource, name))


class NotFound(ApiError):
    code, reason = 404, "NotFound"

    def __init__(self, resource: GroupResource, name: str) -> None:
        super().__init__(
            f"{resource} {go_quote(name)} not found", details=resource_details(resource, name)
        )


class UnknownResource(ApiError):
    """A path that leads to no resource."""

    code, reason = 404, "NotFound"

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource", details={})


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"

    def __init__(self, resource: GroupResource | None = None, action: str = "") -> None:
        if resource is None:
            super().__init__(
                "the server does not allow this method on the requested resource", details={}
            )
        else:
            super().__init__(
                f'{action} is not supported on resources of kind "{resource}"',
                details=resource_details(resource),
            )


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    code, reason = 409, "AlreadyExists"

    def __init__(self, resource: GroupResource, name: str) -> None:
        super().__init__(
            f"{resource} {go_quote(name)} already exists", details=resource_details(resource, name)
        )


class Conflict(ApiError):
    """``why``: what stands in the way; the default is the text for a stale resourceVersion."""

    code, reason = 409, "Conflict"

    STALE = (
        "the object has been modified; please apply your changes to the latest version "
        "and try again"
    )

    def __init__(self, resource: GroupResource, name: str, why: str = STALE) -> None:
        super().__init__(
            f"Operation cannot be fulfilled on {resource} {go_quote(name)}: {why}",
            details=resource_details(resource, name),
        )


class ApplyConflict(ApiError):
    """Server-side apply: conflicts as (message, field) pairs, e.g. ('conflict with "kubectl" using
    v1', '.data.a')."""

    code, reason = 409, "Conflict"

    def __init__(self, message: str, conflicts: Sequence[tuple[str, str]]) -> None:
        causes = [
            {"reason": "FieldManagerConflict", "message": text, "field": field}
            for text, field in conflicts
        ]
        super().__init__(message, details={"causes": causes})


class Expired(ApiError):
    """410 for a resourceVersion or a continue token from before the compaction floor."""

    code, reason = 410, "Expired"


class RequestEntityTooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """422 from a list of field errors; one cause each, in order. Only those that the answer has
    room for are put into words: a hundred thousand errors may each hold the same large value."""

    code, reason = 422, "Invalid"

    def __init__(self, kind: GroupKind, name: str, errors: Sequence[FieldError]) -> None:
        self.errors = list(errors)
        causes = list(_fitting(_cause(e) for e in islice(self.errors, MOST_ERRORS)))
        texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
        if len(causes) < len(self.errors):
            texts.append("and more errors")
        details = {"name": name, "group": kind.group, "kind": kind.kind, "causes": causes}
        super().__init__(
            f"{kind} {go_quote(name)} is invalid: {aggregate(texts)}",
            details={k: v for k, v in details.items() if v},
        )


def _cause(error: FieldError) -> Cause:
    return {"reason": error.type.value, "message": error.body(), "field": error.path or "<nil>"}


class TooManyRequests(ApiError):
    code, reason = 429, "TooManyRequests"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message, details={"retryAfterSeconds": retry_after})


class Overloaded(TooManyRequests):
    """A request that found no seat in time (priority and fairness), which kube-apiserver answers in
    plain text."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("Too many requests, please try again later.", retry_after)


class InternalError(ApiError):
    """A failure whose text may be shown, as kube-apiserver shows it; unexpected exceptions never
    come here."""

    code, reason = 500, "InternalError"

    def __init__(self, why: str) -> None:
        super().__init__(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


class PlainError(ApiError):
    """Go's untyped error: 500 with the bare text and no reason."""

    code, reason = 500, ""


class ServiceUnavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


class TimedOut(ApiError):
    """504: the server gave up waiting. ``causes`` as in Status.details.causes."""

    code, reason = 504, "Timeout"

    def __init__(
        self, message: str, *, retry_after: int = 0, causes: list[Cause] | None = None
    ) -> None:
        details: dict[str, Any] = {}
        if causes:
            details["causes"] = causes
        if retry_after:
            details["retryAfterSeconds"] = retry_after
        super().__init__(message, details=details)


def aggregate(messages: Sequence[str]) -> str:
    """Go's utilerrors.Aggregate: one message bare, several distinct ones in brackets."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
