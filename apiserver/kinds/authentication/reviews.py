"""TokenReview and SelfSubjectReview of authentication.k8s.io/v1, apart from checking the token
itself."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.errors import BadRequest
from apiserver.meta.objects import Object
from apiserver.user import User


def user_info(user: User) -> Object:
    """A user as these objects show it; nothing for what is empty."""
    info: Object = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {name: value for name, value in info.items() if value}


def token_of(review: Object) -> str:
    """The token to be checked. Raises BadRequest when there is none, or a namespace."""
    if (review.get("metadata") or {}).get("namespace"):
        raise BadRequest(
            f"namespace is not allowed on this type: {review['metadata']['namespace']}"
        )
    token = (review.get("spec") or {}).get("token", "")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    return str(token)


def token_review(
    review: Object, user: User | None, audiences: Sequence[str] = (), error: str = ""
) -> Object:
    """``user``: whose token it is, None when it is nobody's; audiences: those that the token and
    spec.audiences share; error: why the token could not be checked. The answer keeps what was
    sent."""
    status: Object = {"user": {}}
    if user is not None:
        status = {"authenticated": True, "user": user_info(user)}
        if audiences:
            status["audiences"] = list(audiences)
    if error:
        status["error"] = error
    return {**review, "metadata": review.get("metadata") or {}, "status": status}
