"""Storage errors become Status errors here, and only here."""

from __future__ import annotations

from types import TracebackType

from apiserver.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    NotFound,
    RequestEntityTooLarge,
    ServiceUnavailable,
    TimedOut,
    TooManyRequests,
)
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Scope
from apiserver.storage import errors


class Outdated(Forbidden):
    """The definition that a custom resource was created by is being deleted, or gone; perhaps
    another one has taken its place."""


TOO_LARGE = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}


def too_large(requested: int, current: int) -> ApiError:
    return TimedOut(
        f"Timeout: Too large resource version: {requested}, current: {current}",
        retry_after=1,
        causes=[TOO_LARGE],
    )


_FULL_DISK_RETRY = 15
"""Seconds; somebody has to make room."""


def unavailable(error: errors.Unavailable | errors.TenantGone) -> ServiceUnavailable:
    """What may happen at every access to storage. A client may repeat at once what is known not to
    be committed."""
    if isinstance(error, errors.TenantGone):
        return ServiceUnavailable("the tenant is being deleted")
    if error.unknown:
        return ServiceUnavailable(
            "the database did not confirm the write; it may have been committed"
        )
    if isinstance(error, errors.DiskFull):
        return ServiceUnavailable(
            "the disk of the database is full", details={"retryAfterSeconds": _FULL_DISK_RETRY}
        )
    return ServiceUnavailable("the database cannot be reached", details={"retryAfterSeconds": 1})


BUDGET = (errors.QuotaExceeded, errors.RateExceeded, errors.ObjectTooLarge)
# seconds that a client is told to wait: those that obey seem to hang, and limits may be raised
# meanwhile
_LONGEST_WAIT = 60


def over_budget(
    error: errors.QuotaExceeded | errors.RateExceeded | errors.ObjectTooLarge,
    resource: GroupResource,
    name: str,
    tenant: str,
) -> ApiError:
    """A tenant that is full, that writes too fast, or an object that nobody may store. tenant: as
    the message calls it."""
    if isinstance(error, errors.ObjectTooLarge):
        return RequestEntityTooLarge(
            f"Request entity too large: the object has {error.size} bytes as it is stored, limit "
            f"is {error.limit}"
        )
    if isinstance(error, errors.QuotaExceeded):
        return Forbidden(
            resource, name, f"exceeded quota: {tenant} is limited to {error.limit} {error.what}"
        )
    what = "bytes written per hour" if error.what == "hour" else "bytes of retained history"
    return TooManyRequests(
        f"{tenant} is limited to {error.limit} {what}, please try again later",
        min(error.retry_after, _LONGEST_WAIT),
    )


class storage_errors:
    """Around what may raise them. name: the object concerned; requested: the resourceVersion that
    was asked for; passing: errors that the caller deals with itself."""

    __slots__ = ("_name", "_passing", "_requested", "_scope")

    def __init__(
        self,
        scope: Scope,
        name: str = "",
        requested: int = 0,
        *,
        passing: tuple[type[errors.StorageError], ...] = (),
    ) -> None:
        self._scope, self._name, self._requested = scope, name, requested
        self._passing = passing

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, errors.StorageError) and not isinstance(error, self._passing):
            answer = _answer(error, self._scope, self._name, self._requested)
            if answer is not None:
                raise answer from None


def _answer(error: errors.StorageError, scope: Scope, name: str, requested: int) -> ApiError | None:
    """None for what is a bug of the server."""
    resource = scope.resource.group_resource
    match error:
        case errors.KeyExists():
            return AlreadyExists(resource, name)
        case errors.KeyMissing():
            return NotFound(resource, name)
        case errors.NeedMissing():
            return Outdated(
                resource,
                name,
                "create not allowed while custom resource definition is terminating",
            )
        case errors.Stale() | errors.Claimed():
            return Conflict(resource, name)
        case errors.TooLarge():
            return too_large(requested, error.current)
        case errors.Compacted():
            return Expired(f"The provided resource version is too old: {requested} ({error.floor})")
        case errors.QuotaExceeded() | errors.RateExceeded() | errors.ObjectTooLarge():
            return over_budget(error, resource, name, f"tenant {scope.tenant.name}")
        case errors.InvalidText():
            return BadRequest(
                "a string in the object contains a NUL character, which cannot be stored"
            )
        case errors.Unavailable() | errors.TenantGone():
            return unavailable(error)
    return None
