"""GrantReview of authorization.polyplane.dev: which rules of RBAC allow something to whom, by which
binding and role.

Everybody who is known may ask (`apiserver.authorizers.chain`), for the answer holds nothing but
what he could put together from bindings that he may list and roles that he may get. Pure, as
`apiserver.authz.reviews`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.authz.bindings import Identity
from apiserver.authz.explanations import described
from apiserver.authz.grants import Asked, Granted
from apiserver.authz.review_selectors import selector_errors
from apiserver.authz.reviews import (
    attributes_of,
    metadata_errors,
    refuse,
    spec_of,
    subject_of,
)
from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.meta.objects import Object

Find = Callable[[Asked], Awaitable[Granted]]


async def grant_review(review: Object, find: Find) -> Object:
    """Without a user and groups: of everybody. Raises Invalid."""
    refuse(_spec_errors(review) + metadata_errors(review, "must be empty"))
    spec = spec_of(review)
    named = spec.get("user") or spec.get("groups")
    asks = (
        spec.get("resourceAttributes") is not None or spec.get("nonResourceAttributes") is not None
    )
    user = subject_of(spec)
    question = attributes_of(user, spec)[0] if asks else None
    granted = await find(Asked(Identity.of(user) if named else None, question))
    return {**review, "status": _status(granted)}


def _status(granted: Granted) -> Object:
    status: Object = {
        "grants": [described(grant) for grant in granted.grants],
        "unresolved": granted.unresolved,
        "hidden": sorted(granted.hidden),
        "others": list(granted.others),
        "incomplete": not granted.complete,
    }
    return {name: value for name, value in status.items() if value}


def _spec_errors(review: Object) -> FieldErrors:
    spec, path = spec_of(review), FieldPath("spec")
    asked, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors: FieldErrors = []
    if asked is not None and url is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid(path.child("nonResourceAttributes"), url.get("path", ""), why))
    if asked is None and url is None and not spec.get("user") and not spec.get("groups"):
        why = "at least one of user, groups, resourceAttributes or nonResourceAttributes"
        errors.append(invalid(path.child("user"), "", f"{why} must be specified"))
    return errors + selector_errors(asked or {}, path.child("resourceAttributes"))
