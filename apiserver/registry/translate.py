"""Storage errors become Status errors here, and only here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apiserver.errors import AlreadyExists, ApiError, BadRequest, Conflict, Expired, Forbidden, NotFound, ServiceUnavailable, TimedOut
from apiserver.registry.scope import Scope
from apiserver.storage import errors


class Outdated(Forbidden):
    """The definition that a custom resource was created by is being deleted, or gone; perhaps another one has taken its place."""


TOO_LARGE = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}


def too_large(wanted: int, current: int) -> ApiError:
    return TimedOut(f"Too large resource version: {wanted}, current: {current}", retry_after=1, causes=[TOO_LARGE])


def unavailable(error: errors.Unavailable | errors.TenantGone) -> ServiceUnavailable:
    """What may happen at every access to storage. A client may repeat at once what is known not to be committed."""
    if isinstance(error, errors.TenantGone):
        return ServiceUnavailable("the tenant is being deleted")
    if error.unknown:
        return ServiceUnavailable("the database did not confirm the write; it may have been committed")
    return ServiceUnavailable("the database cannot be reached", details={"retryAfterSeconds": 1})


@contextmanager
def storage_errors(scope: Scope, name: str = "", wanted: int = 0, *, passing: tuple[type[errors.StorageError], ...] = ()) -> Iterator[None]:
    """name: the object concerned; wanted: the resourceVersion that was asked for; passing: errors that the caller deals with itself."""
    resource = scope.resource.group_resource
    try:
        yield
    except passing:
        raise
    except errors.KeyExists:
        raise AlreadyExists(resource, name) from None
    except errors.KeyMissing:
        raise NotFound(resource, name) from None
    except errors.NeedMissing:
        raise Outdated(resource, name, "create not allowed while custom resource definition is terminating") from None
    except (errors.Stale, errors.Claimed):
        raise Conflict(resource, name) from None
    except errors.TooLarge as e:
        raise too_large(wanted, e.current) from None
    except errors.Compacted as e:
        raise Expired(f"The provided resource version is too old: {wanted} ({e.floor})") from None
    except errors.QuotaExceeded as e:
        raise Forbidden(resource, name, f"exceeded quota: tenant {scope.tenant.name} is limited to {e.limit} {e.what}") from None
    except errors.InvalidText:
        raise BadRequest("a string in the object contains a NUL character, which cannot be stored") from None
    except (errors.Unavailable, errors.TenantGone) as e:
        raise unavailable(e) from None
