"""CustomResourceDefinition: defaults, strategy and table (k8s.io/apiextensions-apiserver
``registry/customresourcedefinition``)."""

from __future__ import annotations

from datetime import datetime

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.apiextensions.approval import approval_errors
from apiserver.kinds.apiextensions.conditions import FINALIZER, is_true, set_condition
from apiserver.kinds.apiextensions.members import names_errors
from apiserver.kinds.apiextensions.openapi import unrecognized_formats
from apiserver.kinds.apiextensions.spec import (
    Options,
    preserve_errors,
    spec_errors,
    stored_versions_errors,
)
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.client_config import default_client_config
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

GROUP = "apiextensions.k8s.io"
_ACCEPTED = FieldPath("status.acceptedNames")


@register(GROUP, "CustomResourceDefinition")
class CustomResourceDefinition(Kind):
    metadata_again = False
    standard_finalizers = False
    status = True
    unprinted = frozenset({"status"})
    allow_unconditional_update = False
    two_phases = True

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        names = spec.setdefault("names", {})
        kind = names.get("kind", "")
        if not names.get("singular") and kind:
            names["singular"] = kind.lower()
        if not names.get("listKind") and kind:
            names["listKind"] = f"{kind}List"
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        default_client_config((spec["conversion"].get("webhook") or {}).get("clientConfig"))
        status = obj.setdefault("status", {})
        if not status.get("storedVersions"):
            _store_version(obj)

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"]["storedVersions"] = None
        _store_version(obj)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_update(obj, old, context)
        obj["status"] = dict(obj.get("status") or {})
        _store_version(obj)

    def begin_deletion(self, obj: Object, now: datetime) -> bool:
        """Instances go first: a finalizer waits for them."""
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return False
        metadata["deletionTimestamp"] = format_time(now)
        finalizers = metadata.get("finalizers") or []
        if FINALIZER not in finalizers:
            metadata["finalizers"] = [*finalizers, FINALIZER]
        text = (
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        )
        set_condition(obj, "Terminating", True, "InstanceDeletionPending", text, now)
        return True

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        expected_name = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
        given = {member: obj["metadata"].get(member) for member in ("generateName", "name")}
        text = 'must be spec.names.plural+"."+spec.group'
        errors = [
            invalid(f"metadata.{member}", name, text)
            for member, name in given.items()
            if name and name != expected_name
        ]
        return errors + spec_errors(spec, Options()) + self._shared(obj, None)

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        spec, before = obj["spec"], old["spec"]
        established = is_true(old, "Established")
        errors = spec_errors(spec, Options.for_update(spec, before, established=established))
        path = FieldPath("spec")
        names, old_names = spec.get("names") or {}, before.get("names") or {}
        if established:
            errors += c.immutable(spec.get("scope"), before.get("scope"), path.child("scope"))
            errors += c.immutable(
                names.get("kind"), old_names.get("kind"), path.child("names", "kind")
            )
        errors += c.immutable(spec.get("group"), before.get("group"), path.child("group"))
        errors += c.immutable(
            names.get("plural"), old_names.get("plural"), path.child("names", "plural")
        )
        return errors + self._shared(obj, old)

    def _shared(self, obj: Object, old: Object | None) -> FieldErrors:
        status = obj.get("status") or {}
        errors = names_errors(status.get("acceptedNames") or {}, _ACCEPTED)
        errors += stored_versions_errors(
            status.get("storedVersions"), obj["spec"].get("versions") or []
        )
        return errors + approval_errors(obj, old) + preserve_errors(obj, old)

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return names_errors((obj.get("status") or {}).get("acceptedNames") or {}, _ACCEPTED)

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if context.subresource:
            return []
        before = set(_formats(old)) if old is not None else set()
        return [
            f'unrecognized format "{name}"'
            for name in dict.fromkeys(_formats(obj))
            if name not in before
        ]


def _store_version(obj: Object) -> None:
    """The storage version belongs to those that objects may be stored in."""
    status = obj["status"]
    name = next(
        (v.get("name", "") for v in obj["spec"].get("versions") or () if v.get("storage")), None
    )
    stored = status.get("storedVersions") or []
    if name is not None and name not in stored:
        status["storedVersions"] = [*stored, name]


def _formats(crd: Object) -> list[str]:
    formats: list[str] = []
    for version in crd["spec"].get("versions") or ():
        props = (version.get("schema") or {}).get("openAPIV3Schema")
        formats += unrecognized_formats(props) if props else []
    return formats
