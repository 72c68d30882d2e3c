"""Custom resources: the strategy, validation and table that a CustomResourceDefinition gives its
objects (k8s.io/apiextensions-apiserver ``registry/customresource``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import orjson

from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate as run_rules
from apiserver.codec import negotiate
from apiserver.errors import BadRequest, Forbidden
from apiserver.fielderrors import ErrorType, FieldErrors, FieldPath, invalid
from apiserver.fieldmanager import reset
from apiserver.golang.math import whole_numbers
from apiserver.golang.strconv import go_quote
from apiserver.kinds.apiextensions.columns import Cell, row
from apiserver.kinds.apiextensions.conversion import ConversionFailed
from apiserver.kinds.apiextensions.embedded import validate_embedded
from apiserver.kinds.apiextensions.jsonpath import Path
from apiserver.kinds.apiextensions.scale import UNSET, Scale
from apiserver.kinds.apiextensions.schemas import Source
from apiserver.kinds.base import Column, Kind, WriteContext
from apiserver.kinds.common.objectmeta import STANDARD_FINALIZERS, shared_errors
from apiserver.kinds.served import Resource, ServedVersion, Subresource
from apiserver.meta.equality import deep_equal
from apiserver.meta.gvk import GroupKind, GroupResource, GroupVersion
from apiserver.meta.names import qualified_name
from apiserver.meta.objects import Object, ReadOnlyObject, copy_json
from apiserver.schema.decode import DecodeError
from apiserver.schema.decode_errors import Empty
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.listtypes import validate_lists
from apiserver.schema.prune import decode_custom
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate import validate

_BLOCKING = {
    ErrorType.NOT_SUPPORTED,
    ErrorType.REQUIRED,
    ErrorType.TOO_LONG,
    ErrorType.TOO_MANY,
    ErrorType.TYPE_INVALID,
}
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation"
)
_METADATA = FieldPath("metadata")


@dataclass(slots=True, eq=False)
class Version:
    """What a definition says about one version. selectable: field selectors by name, each with
    where its value is."""

    source: Source
    status: bool
    scale: Scale | None
    cells: tuple[Cell, ...]
    selectable: Mapping[str, Path]

    @property
    def schema(self) -> Schema:
        return self.source.schema


class CustomVersion(ServedVersion):
    """A version whose schema is compiled when someone asks for it."""

    __slots__ = ("source",)

    def __init__(
        self,
        version: str,
        source: Source,
        verbs: tuple[str, ...],
        subresources: Mapping[str, Subresource],
    ) -> None:
        self.version, self.source, self.verbs, self.subresources = (
            version,
            source,
            verbs,
            subresources,
        )
        self.columns: tuple[Column, ...] = ()
        self.deprecated, self.served = "", True
        self.routes = set()

    @property
    def schema(self) -> Schema:  # type: ignore[override]  # written nowhere
        return self.source.schema

    @property
    def removed_release(self) -> str:
        return ""  # the text of the warning is its author's

    @property
    def unprepared(self) -> int:
        return self.source.unused

    def prepare(self) -> None:
        self.source.prepare()


class CustomKind(Kind):
    """One instance for each definition."""

    metadata_again = False
    standard_finalizers = False
    allow_unconditional_update = False
    takes_of_old = False

    def __init__(
        self, group: str, kind: str, resource: str, versions: Mapping[str, Version]
    ) -> None:
        super().__init__()
        self.group, self.kind, self.resource, self.versions = group, kind, resource, versions
        self.terminating = False

    # --- strategy ---------------------------------------------------------------------------------
    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        if self.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise Forbidden(
                GroupResource(self.group, self.resource), obj["metadata"].get("name", ""), why
            )
        if self.versions[context.version].status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        if self.versions[context.version].status:
            if "status" in old:
                obj["status"] = copy_json(old["status"])
            else:
                obj.pop("status", None)
        self.count_generation(obj, old)

    def count_generation(self, obj: Object, old: Object) -> None:
        """Whatever is not metadata counts, status too where it has no endpoint of its own."""
        new, before = ({k: v for k, v in o.items() if k != "metadata"} for o in (obj, old))
        if not deep_equal(new, before):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """Everything but status and who manages what stays as it was."""
        metadata = dict(old["metadata"])
        metadata.pop("managedFields", None)
        if "managedFields" in obj["metadata"]:
            metadata["managedFields"] = obj["metadata"]["managedFields"]
        status = {"status": obj["status"]} if "status" in obj else {}
        kept = {k: v for k, v in old.items() if k not in ("metadata", "status")}
        obj.clear()
        obj.update({**kept, "metadata": metadata, **status})

    # --- validation -------------------------------------------------------------------------------
    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        version = self.versions[context.version]
        errors = self._type_meta(obj, context.version)
        if not errors:
            errors = validate(version.schema, obj) + _scale_errors(version.scale, obj)
        errors += validate_embedded(version.schema, obj) + validate_lists(version.schema, obj)
        return errors + _rule_errors(version.schema, obj, None, errors, context)

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        version = self.versions[context.version]
        errors = self._type_meta(obj, context.version)
        if not errors:
            errors = validate(version.schema, obj, old=old) + _scale_errors(version.scale, obj)
        errors += validate_embedded(version.schema, obj)
        errors += _new_duplicates(version.schema, obj, old)
        return errors + _rule_errors(version.schema, obj, old, errors, context)

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        version = self.versions[context.version]
        errors = self._type_meta(obj, context.version)
        if not errors:
            schema = (version.schema.properties or {}).get("status")
            if "status" in obj and schema is not None:
                errors += validate(
                    schema, obj["status"], old=old.get("status", MISSING), base=FieldPath("status")
                )
            errors += version.scale.status_errors(obj) if version.scale is not None else []
        errors += _new_duplicates(version.schema, obj, old)
        return errors + _rule_errors(version.schema, obj, old, errors, context)

    def _type_meta(self, obj: Object, version: str) -> FieldErrors:
        type_meta = {"kind": self.kind, "apiVersion": f"{self.group}/{version}"}
        return [
            invalid(name, obj.get(name, ""), f"must be {value}")
            for name, value in type_meta.items()
            if obj.get(name, "") != value
        ]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if context.subresource == "status":
            return []
        before = (old or {}).get("metadata", {}).get("finalizers") or ()
        added = sorted(set(obj["metadata"].get("finalizers") or ()) - set(before))
        return [text for name in added for text in _finalizer_warnings(name)]

    # --- reading ----------------------------------------------------------------------------------
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return row(self.versions[version].cells, obj, now)

    def scale_of(self, obj: Object) -> Object:
        return self._scale(obj).read(obj, absent=None)

    def scale_for_update(self, obj: Object) -> Object:
        return self._scale(obj).read(obj, absent=UNSET)

    def scale_written(self, obj: Object) -> Object:
        return self._scale(obj).read(obj, absent=0)

    def set_scale(self, obj: Object, replicas: int) -> None:
        self._scale(obj).write(obj, replicas)

    def _scale(self, obj: Object) -> Scale:
        scale = self.versions[GroupVersion.parse(obj["apiVersion"]).version].scale
        assert scale is not None, "the subresource is served only where it is declared"
        return scale


_FOREIGN = Schema(preserve_unknown=True)
"""Of an object that says it is of another group or kind: nothing goes, nothing comes."""


@dataclass(slots=True, eq=False)
class CustomResource(Resource):
    """A Resource that a definition makes."""

    encodings: ClassVar[tuple[str, ...]] = negotiate.CUSTOM
    patch_types: ClassVar[tuple[str, ...]] = negotiate.CUSTOM_PATCHES
    has_routes: ClassVar[bool] = False
    has_go_type: ClassVar[bool] = False
    versions_may_go: ClassVar[bool] = True
    removed_as_stored: ClassVar[bool] = True
    checks_scale: ClassVar[bool] = False
    applies_scale: ClassVar[bool] = False

    # --- objects ----------------------------------------------------------------------------------
    def decode(
        self, served: ServedVersion, value: Any, empties: list[Empty] | None = None
    ) -> tuple[Object, list[str]]:
        return self._decode(served, value)

    def decode_merged(
        self, served: ServedVersion, value: Any, empties: list[Empty] | None = None
    ) -> tuple[Object, list[str]]:
        return self._decode(served, value, merged=True)

    def _decode(
        self, served: ServedVersion, value: Any, *, merged: bool = False
    ) -> tuple[Object, list[str]]:
        obj: Object = whole_numbers(value)
        schema = self._claimed_schema(served, obj)
        unknown = decode_custom(schema, obj, merged=merged)
        obj.setdefault("metadata", {})  # without a name, which those who need one say
        if schema is not None:
            apply_defaults(schema, obj)
        return obj, unknown

    def _claimed_schema(self, served: ServedVersion, obj: ReadOnlyObject) -> Schema | None:
        """The schema of the version that an object says it has, which may be another than that of
        the request (a patch can change it, for validation to refuse); None for a version that does
        not exist, of which nothing is known. An object of another group or kind stays as it is.
        Raises DecodeError."""
        claimed, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(claimed, str) or not claimed or not isinstance(kind, str):
            return served.schema
        if claimed == self.gvk(served.version).api_version and kind == self.kind:
            return served.schema
        try:
            group, version = GroupVersion.parse(claimed)
        except ValueError as error:
            raise DecodeError(str(error)) from None
        if (group, kind) != (self.group, self.kind):
            return _FOREIGN
        other = self.versions.get(version)
        return other.schema if other is not None else None

    def kind_of(self, obj: ReadOnlyObject) -> GroupKind:
        """An object may say that it is of another group or kind, which is then part of the
        error."""
        group = GroupVersion.parse(obj.get("apiVersion") or "").group
        return GroupKind(group, obj.get("kind") or "")

    def ordered_metadata(self, metadata: Object) -> Object:
        return {name: metadata[name] for name in sorted(metadata)}

    # --- storage ----------------------------------------------------------------------------------
    @property
    def tells_storage_version(self) -> bool:
        stored = self.versions.get(self.storage_version)
        return stored is not None and stored.served

    @property
    def etcd_prefix(self) -> str:
        return f"{self.group}/{self.resource}"

    def decode_stored(self, obj: Object) -> None:
        """What the schema does not know goes, and its defaults come."""
        self.check_stored_version(obj["apiVersion"])
        schema = self.versions[GroupVersion.parse(obj["apiVersion"]).version].schema
        decode_custom(schema, obj, lenient=True)
        apply_defaults(schema, obj)

    def check_stored_version(self, api_version: str) -> None:
        group, version = GroupVersion.parse(api_version)
        if group != self.group or version not in self.versions:
            raise ConversionFailed(
                f"request to convert CR from an invalid group/version: {api_version}"
            )

    def fit(self, obj: Object, version: str) -> None:
        """Defaults are not applied: only stored objects and requests get them."""
        try:
            decode_custom(self.versions[version].schema, obj)
        except DecodeError as error:
            raise ConversionFailed(str(error)) from None

    def reads_as_stored(self, data: bytes) -> bool:
        stored, read = orjson.loads(data), orjson.loads(data)
        self.decode_stored(read)
        return bool(stored == read)

    def asks_to_store(self, obj: ReadOnlyObject) -> bool:
        return bool(obj["apiVersion"] != self.gvk(self.storage_version).api_version)

    def default_as_read(self, obj: Object) -> None:
        """What the strategy has dropped (status) is read with its defaults."""
        apply_defaults(self.versions[self.storage_version].schema, obj)

    # --- selectors, field managers, scale ---------------------------------------------------------
    def selectable(self, version: str) -> tuple[str, ...]:
        return tuple(self._kind.versions[version].selectable)

    def stored_field(self, version: str, name: str) -> str:
        if name == "metadata.name" or (name == "metadata.namespace" and self.namespaced):
            return name
        own = self.selectable(version)
        stored = self.hooks.field_alias(version, name) if name in own else ""
        if not stored or stored not in own:
            raise BadRequest(f"field label not supported: {name}")
        return stored

    def reset_fields(self) -> reset.Filters:
        return reset.custom(
            self.gvk(v).api_version
            for v, served in self.versions.items()
            if "status" in served.subresources
        )

    def no_such_version(self, api_version: str) -> Exception:
        """kube-apiserver does not tell this error from others: managers of removed versions stop
        applies (kubernetes issue 111937)."""
        return ValueError(f"request to convert CR to an invalid group/version: {api_version}")

    def replicas_path(self, version: str) -> str:
        scale = self._kind.versions[version].scale
        return scale.spec if scale is not None else ""

    @property
    def _kind(self) -> CustomKind:
        assert isinstance(self.hooks, CustomKind), "made by custom_resource"
        return self.hooks


def _scale_errors(scale: Scale | None, obj: Object) -> FieldErrors:
    return scale.spec_errors(obj) + scale.status_errors(obj) if scale is not None else []


def _new_duplicates(schema: Schema, obj: Object, old: Object) -> FieldErrors:
    """Objects that were stored with duplicates may keep them."""
    duplicates = validate_lists(schema, obj)
    return duplicates if duplicates and not validate_lists(schema, old) else []


def _rule_errors(
    schema: Schema, obj: Object, old: Object | None, errors: FieldErrors, context: WriteContext
) -> FieldErrors:
    """``errors``: what is wrong with the object otherwise."""
    if not schema.below.rules:
        return []
    metadata = obj.get("metadata", {})
    if not metadata.get("name") or any(
        e.type in _BLOCKING for e in (*errors, *shared_errors(metadata, _METADATA))
    ):
        return [invalid("", None, _UNCHECKED)]
    outcome = run_rules(compile_rules(schema), obj, old)
    for text in outcome.warnings:
        context.warn(text)
    return outcome.errors


def _finalizer_warnings(name: str) -> list[str]:
    where = f"metadata.finalizers: {go_quote(name)}: "
    warnings = [where + text for text in qualified_name(name)]
    if "/" not in name and name not in STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        warnings.append(
            f"{where}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts "
            f"with other finalizer writers"
        )
    return warnings
