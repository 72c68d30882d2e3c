"""ObjectMeta: what the server fills in, what it refuses, and what an update may not change.

Sources: k8s.io/apimachinery ``api/validation/objectmeta.go``, k8s.io/apiserver
``registry/rest/{create,update,meta}.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.errors import BadRequest
from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import Kind
from apiserver.kinds.common import namerules
from apiserver.kinds.common.objectmeta import (
    identity_errors,
    name_errors,
    shared_errors,
    standard_finalizer_errors,
)
from apiserver.meta import names
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

METADATA = FieldPath("metadata")


_SYSTEM_FIELDS = (
    "creationTimestamp",
    "uid",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


def wipe_system_fields(metadata: dict[str, Any]) -> None:
    """What a client cannot say of an object that it makes by POST. By PUT and apply it can: such an
    object may come into the world while it is being deleted (``endpoints/handlers/create.go``
    alone calls WipeObjectMetaSystemFields)."""
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)


def fill_system_fields(metadata: dict[str, Any], now: datetime, uid: str = "") -> None:
    """Before create: a uid (a new one, unless it is given), creationTimestamp and a generated
    name."""
    metadata.pop("selfLink", None)
    metadata["creationTimestamp"] = format_time(now)
    metadata["uid"] = uid or names.random_uid()
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = names.generate_name(metadata["generateName"])


def validate(
    obj: Object,
    hooks: Kind,
    *,
    namespaced: bool,
    path: FieldPath = METADATA,
    shared: FieldErrors | None = None,
) -> FieldErrors:
    """What the kind asks of the metadata of its objects. ``shared``: what `shared_errors` finds,
    where that is known."""
    metadata = obj.get("metadata", {})
    errors = identity_errors(
        metadata, path, namespaced=namespaced, name_rule=hooks.name_rule or namerules.dns_subdomain
    )
    errors += shared_errors(metadata, path) if shared is None else shared
    return errors + _standard(metadata, hooks, path)


def common_errors(obj: Object, hooks: Kind, *, namespaced: bool) -> FieldErrors:
    """What is asked of the metadata of every new object once the kind is satisfied: a name that
    fits into a URL, and all the rest where the kind has not looked at it."""
    metadata = obj["metadata"]
    if hooks.metadata_create:
        return name_errors(metadata, namerules.path_segment, METADATA)
    errors = identity_errors(
        metadata, METADATA, namespaced=namespaced, name_rule=namerules.path_segment
    )
    return errors + shared_errors(metadata, METADATA)


_IMMUTABLE: dict[str, str | None] = {
    "name": "",
    "namespace": "",
    "uid": "",
    "creationTimestamp": None,
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": None,
}
"""With what Go holds where they are not."""


def inherit(metadata: dict[str, Any], old: Mapping[str, Any]) -> None:
    """Before update: creationTimestamp and a set deletionTimestamp cannot change; what may be left
    out is taken from the stored object."""
    if not metadata.get("uid") and old.get("uid"):
        metadata["uid"] = old["uid"]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if old.get(name) is not None:
            metadata[name] = old[name]
    if (
        metadata.get("deletionGracePeriodSeconds") is None
        and old.get("deletionGracePeriodSeconds") is not None
    ):
        metadata["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]
    metadata.pop("selfLink", None)


def keep_generation(metadata: dict[str, Any], old: Mapping[str, Any]) -> None:
    """Generation is the server's alone."""
    if "generation" in old:
        metadata["generation"] = old["generation"]
    else:
        metadata.pop("generation", None)


def validate_update(
    obj: Object, old: Object, hooks: Kind, *, namespaced: bool, whole: bool
) -> FieldErrors:
    """What every update is asked. kube-apiserver validates metadata for every kind, and again in
    the kind's own validation: clients see a cause each time. ``whole``: it is the object itself
    that is updated, not its status or the like."""
    shared = shared_errors(obj["metadata"], METADATA)
    changed = _change_errors(obj, old, METADATA)
    errors = identity_errors(
        obj["metadata"], METADATA, namespaced=namespaced, name_rule=namerules.path_segment
    )
    errors += [*shared, *changed, *shared]
    compared, again = hooks.metadata_update, hooks.metadata_again
    if not whole:
        compared, again = hooks.metadata_of_parts or (compared, 0)
    if compared:
        errors += [*changed, *shared, *_standard(obj["metadata"], hooks, METADATA)]
    if again:
        errors += again * validate(obj, hooks, namespaced=namespaced, shared=shared)
    return errors


def _standard(metadata: Mapping[str, Any], hooks: Kind, path: FieldPath) -> FieldErrors:
    return standard_finalizer_errors(metadata, path) if hooks.standard_finalizers else []


def _change_errors(obj: Object, old: Object, path: FieldPath) -> FieldErrors:
    metadata, before = obj["metadata"], old["metadata"]
    errors: FieldErrors = []
    if before.get("deletionTimestamp"):
        added = sorted({*(metadata.get("finalizers") or ())} - {*(before.get("finalizers") or ())})
        if added:
            added_text = "[]string{" + ", ".join(go_quote(f) for f in added) + "}"
            text = (
                f"no new finalizers can be added if the object is being deleted, found "
                f"new finalizers {added_text}"
            )
            errors.append(forbidden(path.child("finalizers"), text))
    if not metadata.get("resourceVersion"):
        errors.append(invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    if metadata.get("generation", 0) < before.get("generation", 0):
        errors.append(
            invalid(
                path.child("generation"), metadata.get("generation", 0), "must not be decremented"
            )
        )
    if [*map(metadata.get, _IMMUTABLE)] == [*map(before.get, _IMMUTABLE)]:
        return errors
    for name, absent in _IMMUTABLE.items():
        if metadata.get(name) != before.get(name):
            value = metadata.get(name, absent)
            errors.append(invalid(path.child(name), value, "field is immutable"))
    return errors


def ensure_namespace(metadata: dict[str, Any], request_namespace: str) -> None:
    """The body's namespace must be the URL's, or absent. Raises BadRequest."""
    namespace = metadata.get("namespace", "")
    if not namespace:
        if request_namespace:
            metadata["namespace"] = request_namespace
    elif namespace != request_namespace:
        if not request_namespace:
            del metadata["namespace"]
            return
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(obj: Object, url_name: str) -> None:
    """The object's name must be the URL's. Raises BadRequest."""
    name = obj["metadata"].get("name", "")
    if not name:
        raise BadRequest(
            f"the name of the object ({url_name} based on URL) was undeterminable: name must be "
            f"provided"
        )
    if name != url_name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({url_name})"
        )
