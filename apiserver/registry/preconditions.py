"""What a write says about the state it expects: the uid and the resourceVersion of the new object
(k8s.io/apiserver ``registry/generic/registry/store.go``, ``storage/interfaces.go``)."""

from __future__ import annotations

from apiserver.errors import Conflict, Invalid, PlainError
from apiserver.fielderrors import invalid
from apiserver.golang.strconv import NumError, parse_uint
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.scope import Scope


def check_uid(scope: Scope, new: ReadOnlyObject, old: ReadOnlyObject, *, dry_run: bool) -> None:
    """A uid in the new object must be the stored one's. Raises Conflict."""
    expected, actual = new["metadata"].get("uid"), old["metadata"].get("uid", "")
    if expected and expected != actual:
        raise Conflict(
            scope.resource.group_resource,
            scope.name,
            uid_text(scope, expected, actual, dry_run=dry_run),
        )


def check_record(
    scope: Scope, expected: ReadOnlyObject, old: ReadOnlyObject, *, dry_run: bool
) -> None:
    """``expected``: metadata whose uid and resourceVersion, where they are set, must be the stored
    object's. Raises Conflict."""
    for name, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, actual = expected.get(name), old["metadata"].get(name, "")
        if wanted and wanted != actual:
            text = _failed(scope, label, wanted, actual, dry_run=dry_run)
            raise Conflict(scope.resource.group_resource, scope.name, text)


def check_no_uid(
    scope: Scope, new: ReadOnlyObject, *, is_precondition: bool, dry_run: bool
) -> None:
    """An object that is not there has no uid. Raises Conflict."""
    uid = new["metadata"].get("uid")
    if not uid:
        return
    text = (
        f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    )
    if is_precondition:
        text = uid_text(scope, uid, "", dry_run=dry_run)
    raise Conflict(scope.resource.group_resource, scope.name, text)


def uid_text(scope: Scope, expected: str, actual: str, *, dry_run: bool) -> str:
    return _failed(scope, "UID", expected, actual, dry_run=dry_run)


def _failed(scope: Scope, what: str, expected: str, actual: str, *, dry_run: bool) -> str:
    """Names the key under which kube-apiserver keeps the object in etcd."""
    path = "/".join(
        [
            "" if dry_run else "/registry",
            scope.resource.etcd_prefix,
            *([scope.namespace] if scope.namespace else []),
            scope.name,
        ]
    )
    return (
        f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: "
        f"Precondition failed: {what} in precondition: {expected}, {what} in object meta: {actual}"
    )


def check_resource_version(scope: Scope, new: Object, old: ReadOnlyObject) -> None:
    """The new object's version must be the stored one's; where it may be left out, it is filled in.
    Raises Conflict, Invalid, PlainError."""
    stored: str = old["metadata"]["resourceVersion"]
    expected = resource_version_of(new)
    if not expected:
        if not scope.resource.hooks.allow_unconditional_update:
            kind = GroupKind(scope.resource.group, scope.resource.resource)
            raise Invalid(
                kind,
                scope.name,
                [invalid("metadata.resourceVersion", 0, "must be specified for an update")],
            )
        new["metadata"]["resourceVersion"] = stored
    elif expected != int(stored):
        raise Conflict(scope.resource.group_resource, scope.name)


def resource_version_of(obj: ReadOnlyObject) -> int:
    """0 for none. Raises PlainError with the text of strconv.ParseUint."""
    text = obj["metadata"].get("resourceVersion") or "0"
    try:
        return parse_uint(text)
    except NumError as e:
        raise PlainError(str(e)) from None
