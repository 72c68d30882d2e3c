"""Which answers show values of Secrets to somebody at the console.

Programs read Secrets by tokens, all day, and whether that is kept is the audit policy's to say. At
the console it is a person who looks, and each look leaves an entry, whatever the policy says
(`filters.auditing`): GET, LIST and watch of Secrets, changes that are answered with them (a dry
run's, too), and revisions of Secrets and their differences. Metadata alone, and Tables without
objects, show no values, unless a filter or an order is asked for: those tell values bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.codec.negotiate import Accepted
from apiserver.endpoints.request import ApiRequest
from apiserver.kinds.served import Resource
from apiserver.meta.objects import Object
from apiserver.registry.options import first

_TELLING = ("filter", "sortBy")
"""Parameters of lists and watches whose answer depends on values that it does not show."""


def note(request: ApiRequest, resource: Resource, kind: Accepted) -> None:
    """An answer with objects of the resource is about to be made."""
    if (resource.group, resource.resource) == ("", "secrets"):
        _note(request, kind, guessing=any(first(request.query, name) for name in _TELLING))


def note_revisions(request: ApiRequest, revisions: Sequence[Object], kind: Accepted) -> None:
    """An answer with these Revisions, or RevisionDiffs, is about to be made."""
    if any(_is_of_secret(revision) for revision in revisions):
        _note(request, kind)


def _note(request: ApiRequest, kind: Accepted, *, guessing: bool = False) -> None:
    target = kind.convert
    whole = target is None or (
        target.kind == "Table" and first(request.query, "includeObject") == "Object"
    )
    if (whole or guessing) and request.identified is not None:
        request.disclosed = True


def _is_of_secret(revision: Object) -> bool:
    about = revision["objectRef"]
    holds = "object" in revision or "changes" in revision
    return holds and (about.get("apiVersion"), about.get("kind")) == ("v1", "Secret")
