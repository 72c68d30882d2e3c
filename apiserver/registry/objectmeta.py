"""ObjectMeta: what the server fills in, what it refuses, and what an update may not change.

Sources: k8s.io/apimachinery ``api/validation/objectmeta.go``, k8s.io/apiserver ``registry/rest/{create,update,meta}.go``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.errors import BadRequest
from apiserver.fielderrors import FieldErrors, FieldPath, GoSyntax, forbidden, go_quote, invalid, required, too_long
from apiserver.kinds.base import Kind, Object
from apiserver.kinds.common import namerules
from apiserver.meta import names
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.times import format_time

NameRule = Callable[[str, bool], list[str]]

METADATA = FieldPath("metadata")
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN, FOREGROUND})
_FORBIDDEN_OWNERS = {("v1", "Event")}


def drop_deletion(metadata: dict[str, Any]) -> None:
    """What only the server sets when it deletes; nobody owns it either."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)


def fill_system_fields(metadata: dict[str, Any], now: datetime) -> None:
    """Before create: a new uid and creationTimestamp, a generated name, nothing that only deletion sets."""
    drop_deletion(metadata)
    metadata["creationTimestamp"] = format_time(now)
    metadata["uid"] = str(uuid.uuid4())
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = names.generate_name(metadata["generateName"])


def validate(obj: Object, hooks: Kind, *, namespaced: bool, path: FieldPath = METADATA) -> FieldErrors:
    """What the kind asks of the metadata of its objects."""
    errors = identity_errors(obj, namespaced=namespaced, name_rule=hooks.name_rule, path=path) + shared_errors(
        obj.get("metadata", {}), path
    )
    return errors + (_standard_finalizers(obj, path) if hooks.standard_finalizers else [])


def identity_errors(obj: Object, *, namespaced: bool, name_rule: NameRule | None, path: FieldPath = METADATA) -> FieldErrors:
    """Name, namespace, generation and finalizers (of ValidateObjectMetaAccessor, what ValidateObjectMetaAccessorUpdate does not check)."""
    metadata = obj.get("metadata", {})
    errors = _name_errors(metadata, name_rule or namerules.dns_subdomain, path)
    namespace = metadata.get("namespace", "")
    if namespaced:
        if not namespace:
            errors.append(required(path.child("namespace")))
        else:
            errors += [invalid(path.child("namespace"), namespace, text) for text in names.dns1123_label(namespace)]
    elif namespace:
        errors.append(forbidden(path.child("namespace"), "not allowed on this type"))
    if metadata.get("generation", 0) < 0:
        errors.append(invalid(path.child("generation"), metadata["generation"], "must be greater than or equal to 0"))
    return errors + _finalizer_errors(metadata.get("finalizers") or (), path.child("finalizers"))


def _name_errors(metadata: Mapping[str, Any], rule: NameRule, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    if prefix:
        errors += [invalid(path.child("generateName"), prefix, text) for text in rule(prefix, True)]
    if not name:
        errors.append(required(path.child("name"), "name or generateName is required"))
    else:
        errors += [invalid(path.child("name"), name, text) for text in rule(name, False)]
    return errors


def path_segment_errors(obj: Object) -> FieldErrors:
    """What every name must satisfy to fit into a URL, whatever the kind's own rule."""
    name = obj["metadata"].get("name", "")
    return [invalid(METADATA.child("name"), name, text) for text in names.path_segment(name)]


def shared_errors(metadata: Mapping[str, Any], path: FieldPath = METADATA) -> FieldErrors:
    """Labels, annotations and owner references: what create and update check alike."""
    errors = label_errors(metadata.get("labels") or {}, path.child("labels"))
    errors += _annotation_errors(metadata.get("annotations") or {}, path.child("annotations"))
    errors += _owner_errors(metadata.get("ownerReferences") or (), path.child("ownerReferences"))
    return errors


def label_errors(labels: Mapping[str, str], path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    for key, value in labels.items():
        errors += [invalid(path, key, text) for text in names.label_key(key)]
        errors += [invalid(path, value, text) for text in names.label_value(value)]
    return errors


MAX_ANNOTATIONS = 256 * 1024
"""Bytes of all keys and values together."""


def _annotation_errors(annotations: Mapping[str, str], path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    for key in annotations:
        errors += [invalid(path, key, text) for text in names.qualified_name(key.lower())]
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > MAX_ANNOTATIONS:
        errors.append(too_long(path, MAX_ANNOTATIONS))
    return errors


def _owner_errors(owners: Any, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    controller = None
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not _version_of(version):
            errors.append(invalid(path.child("apiVersion"), version, "version must not be empty"))
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                errors.append(invalid(path.child(name), "", "must not be empty"))
        if (version, owner.get("kind")) in _FORBIDDEN_OWNERS:
            text = f"/{version}, Kind={owner['kind']} is disallowed from being an owner"
            errors.append(invalid(path, GoSyntax(_in_go_order(owner)), text))
        if owner.get("controller"):
            if controller is not None:
                text = (
                    f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {_named(owner)}'
                )
                errors.append(invalid(path, GoSyntax(f"[{','.join(map(_in_go_order, owners))}]"), text))
            else:
                controller = _named(owner)
    return errors


def _version_of(api_version: str) -> str:
    try:
        return GroupVersion.parse(api_version).version
    except ValueError:
        return ""


def _named(owner: Mapping[str, Any]) -> str:
    return f"{owner.get('kind', '')}/{owner.get('name', '')}"


def _in_go_order(owner: Mapping[str, Any]) -> str:
    """An OwnerReference as Go's encoder prints the struct."""
    members = {k: owner.get(k, "") for k in ("apiVersion", "kind", "name", "uid")}
    members |= {k: owner[k] for k in ("controller", "blockOwnerDeletion") if owner.get(k) is not None}
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


def _finalizer_errors(finalizers: Sequence[str], path: FieldPath) -> FieldErrors:
    errors = [invalid(path, name, text) for name in finalizers for text in names.qualified_name(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.append(invalid(path, list(finalizers), f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return errors


def _standard_finalizers(obj: Object, path: FieldPath) -> FieldErrors:
    """Names without a domain must be among Kubernetes' own."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(path.child("finalizers").at(i), name, text)
        for i, name in enumerate(obj["metadata"].get("finalizers") or ())
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def inherit(metadata: dict[str, Any], old: Mapping[str, Any]) -> None:
    """Before update: creationTimestamp and a set deletionTimestamp cannot change; what may be left out is taken from the stored object."""
    if not metadata.get("uid") and old.get("uid"):
        metadata["uid"] = old["uid"]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if old.get(name) is not None:
            metadata[name] = old[name]
    if metadata.get("deletionGracePeriodSeconds") is None and old.get("deletionGracePeriodSeconds") is not None:
        metadata["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]
    metadata.pop("selfLink", None)


def keep_generation(metadata: dict[str, Any], old: Mapping[str, Any]) -> None:
    """Generation is the server's alone."""
    if "generation" in old:
        metadata["generation"] = old["generation"]
    else:
        metadata.pop("generation", None)


def validate_update(obj: Object, old: Object, hooks: Kind, *, namespaced: bool, whole: bool) -> FieldErrors:
    """What every update is asked. kube-apiserver validates metadata for every kind, and again in the kind's own validation: clients see a
    cause each time. ``whole``: it is the object itself that is updated, not its status or the like."""
    shared = shared_errors(obj["metadata"])
    changed = _change_errors(obj, old, METADATA)
    errors = identity_errors(obj, namespaced=namespaced, name_rule=namerules.path_segment)
    errors += [*shared, *changed, *shared, *changed, *shared]
    return errors + (validate(obj, hooks, namespaced=namespaced) if whole and hooks.metadata_again else [])


def _change_errors(obj: Object, old: Object, path: FieldPath) -> FieldErrors:
    metadata, before = obj["metadata"], old["metadata"]
    errors: FieldErrors = []
    if before.get("deletionTimestamp"):
        added = sorted({*(metadata.get("finalizers") or ())} - {*(before.get("finalizers") or ())})
        if added:
            shown = "[]string{" + ", ".join(go_quote(f) for f in added) + "}"
            text = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
            errors.append(forbidden(path.child("finalizers"), text))
    if not metadata.get("resourceVersion"):
        errors.append(invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    if metadata.get("generation", 0) < before.get("generation", 0):
        errors.append(invalid(path.child("generation"), metadata.get("generation", 0), "must not be decremented"))
    for name in _IMMUTABLE:
        if metadata.get(name) != before.get(name):
            errors.append(invalid(path.child(name), metadata.get(name), "field is immutable"))
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
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def check_name(obj: Object, wanted: str) -> None:
    """The object's name must be the URL's. Raises BadRequest."""
    name = obj["metadata"].get("name", "")
    if not name:
        raise BadRequest(f"the name of the object ({wanted} based on URL) was undeterminable: name must be provided")
    if name != wanted:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({wanted})")
