"""Custom resources: the strategy, validation and table that a CustomResourceDefinition gives its objects
(k8s.io/apiextensions-apiserver ``registry/customresource``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apiserver.cel.rules import compile_rules
from apiserver.cel.rules import validate as run_rules
from apiserver.errors import Forbidden
from apiserver.fielderrors import ErrorType, FieldErrors, FieldPath, go_quote, invalid
from apiserver.kinds.apiextensions.columns import Cell
from apiserver.kinds.apiextensions.conversion import ConversionWebhook
from apiserver.kinds.apiextensions.embedded import validate_embedded
from apiserver.kinds.apiextensions.jsonpath import Path
from apiserver.kinds.apiextensions.scale import Scale
from apiserver.kinds.apiextensions.schemas import Source
from apiserver.kinds.base import Column, Kind, Object, Resource, ServedVersion, Subresource, WriteContext
from apiserver.kinds.common.objectmeta import STANDARD_FINALIZERS, shared_errors
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.names import qualified_name
from apiserver.schema.correlate import same_numbers
from apiserver.schema.listtypes import validate_lists
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate import validate

_BLOCKING = {ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID}
_UNCHECKED = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
_METADATA = FieldPath("metadata")


@dataclass(slots=True, eq=False)
class Version:
    """What a definition says about one version. selectable: field selectors by name, each with where its value is."""

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

    def __init__(self, version: str, source: Source, verbs: tuple[str, ...], subresources: Mapping[str, Subresource]) -> None:
        self.version, self.source, self.verbs, self.subresources = version, source, verbs, subresources
        self.columns: tuple[Column, ...] = ()
        self.deprecated, self.served = "", True

    @property
    def schema(self) -> Schema:  # type: ignore[override]  # written nowhere
        return self.source.schema


@dataclass(slots=True, eq=False)
class CustomResource(Resource):
    """A Resource that a definition makes. definition: its uid; digest: of what it is made from, but for deletion; terminating: the
    definition is being deleted; manager: the FieldManager, once one is needed; webhook: who converts its objects (None: only their
    apiVersion changes)."""

    terminating: bool = False
    definition: str = ""
    digest: bytes = b""
    manager: Any = None
    webhook: ConversionWebhook | None = None

    def selectable(self, version: str) -> frozenset[str]:
        hooks = self.hooks
        assert isinstance(hooks, CustomKind)
        return frozenset(hooks.versions[version].selectable)


class CustomKind(Kind):
    """One instance for each definition."""

    metadata_again = False
    standard_finalizers = False
    allow_unconditional_update = False

    def __init__(self, group: str, kind: str, resource: str, versions: Mapping[str, Version]) -> None:
        super().__init__()
        self.group, self.kind, self.resource, self.versions = group, kind, resource, versions
        self.terminating = False

    # --- strategy --------------------------------------------------------------------------------------------------------------
    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        if self.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise Forbidden(GroupResource(self.group, self.resource), obj["metadata"].get("name", ""), why)
        if self.versions[context.version].status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        if self.versions[context.version].status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        self.count_generation(obj, old)

    def count_generation(self, obj: Object, old: Object) -> None:
        """Whatever is not metadata counts, status too where it has no endpoint of its own."""
        new, before = ({k: v for k, v in o.items() if k != "metadata"} for o in (obj, old))
        if not same_numbers(new, before):
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

    # --- validation ------------------------------------------------------------------------------------------------------------
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

    def validate_status_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        version = self.versions[context.version]
        errors = self._type_meta(obj, context.version)
        if not errors:
            schema = (version.schema.properties or {}).get("status")
            if "status" in obj and schema is not None:
                errors += validate(schema, obj["status"], old=old.get("status", MISSING), base=FieldPath("status"))
            errors += version.scale.status_errors(obj) if version.scale is not None else []
        errors += _new_duplicates(version.schema, obj, old)
        return errors + _rule_errors(version.schema, obj, old, errors, context)

    def _type_meta(self, obj: Object, version: str) -> FieldErrors:
        wanted = {"kind": self.kind, "apiVersion": f"{self.group}/{version}"}
        return [invalid(name, obj.get(name, ""), f"must be {value}") for name, value in wanted.items() if obj.get(name, "") != value]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if context.subresource == "status":
            return []
        before = (old or {}).get("metadata", {}).get("finalizers") or ()
        added = sorted(set(obj["metadata"].get("finalizers") or ()) - set(before))
        return [text for name in added for text in _finalizer_warnings(name)]

    # --- reading ---------------------------------------------------------------------------------------------------------------
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [cell(obj, now) for cell in self.versions[version].cells]

    def scale_of(self, obj: Object) -> Object:
        return self._scale(obj).read(obj, for_update=False)

    def scale_for_update(self, obj: Object) -> Object:
        return self._scale(obj).read(obj, for_update=True)

    def set_scale(self, obj: Object, replicas: int) -> None:
        self._scale(obj).write(obj, replicas)

    def _scale(self, obj: Object) -> Scale:
        scale = self.versions[GroupVersion.parse(obj["apiVersion"]).version].scale
        assert scale is not None, "the subresource is served only where it is declared"
        return scale


def _scale_errors(scale: Scale | None, obj: Object) -> FieldErrors:
    return scale.spec_errors(obj) + scale.status_errors(obj) if scale is not None else []


def _new_duplicates(schema: Schema, obj: Object, old: Object) -> FieldErrors:
    """Objects that were stored with duplicates may keep them."""
    found = validate_lists(schema, obj)
    return found if found and not validate_lists(schema, old) else []


def _rule_errors(schema: Schema, obj: Object, old: Object | None, errors: FieldErrors, context: WriteContext) -> FieldErrors:
    """``errors``: what is wrong with the object otherwise."""
    if "rules" not in schema.cache.get("below", ()):
        return []
    metadata = obj.get("metadata", {})
    if not metadata.get("name") or any(e.type in _BLOCKING for e in (*errors, *shared_errors(metadata, _METADATA))):
        return [invalid("", None, _UNCHECKED)]
    outcome = run_rules(compile_rules(schema), obj, old)
    for text in outcome.warnings:
        context.warn(text)
    return outcome.errors


def _finalizer_warnings(name: str) -> list[str]:
    where = f"metadata.finalizers: {go_quote(name)}: "
    found = [where + text for text in qualified_name(name)]
    if "/" not in name and name not in STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        found.append(f"{where}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers")
    return found
