"""Names, subresources, printer columns, selectable fields and conversion of a
CustomResourceDefinition (k8s.io/apiextensions-apiserver ``apis/apiextensions/validation``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.cel.kubernetes.fieldpath import FieldPathError, parse_field_path
from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
)
from apiserver.kinds.apiextensions.cabundle import bundle_errors
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.client_config import client_config_errors
from apiserver.meta.names import dns1035_label
from apiserver.meta.objects import Object
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema

MAX_SELECTABLE_FIELDS = 8
_COLUMN_TYPES = "boolean,date,integer,number,string"
_COLUMN_FORMATS = "byte,date,date-time,double,float,int32,int64,password"
_REVIEW_VERSIONS = ("v1", "v1beta1")


def names_errors(names: Mapping[str, Any], path: FieldPath) -> FieldErrors:
    """Of ``spec.names`` and of ``status.acceptedNames``; absent names are fine."""
    errors: FieldErrors = []
    for member in ("plural", "singular"):
        errors += _label(names.get(member, ""), path.child(member))
    for member in ("kind", "listKind"):
        value = names.get(member, "")
        errors += _label(
            value, path.child(member), "may have mixed case, but should otherwise match: "
        )
    for i, value in enumerate(names.get("shortNames") or ()):
        errors += _label(value, path.child("shortNames").at(i), always=True)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.append(
            invalid(
                path.child("listKind"), names["listKind"], "kind and listKind may not be the same"
            )
        )
    for i, value in enumerate(names.get("categories") or ()):
        errors += _label(value, path.child("categories").at(i), always=True)
    return errors


def _label(value: str, path: FieldPath, prefix: str = "", *, always: bool = False) -> FieldErrors:
    wrong = dns1035_label(value.lower() if prefix else value) if value or always else []
    return [invalid(path, value, prefix + ",".join(wrong))] if wrong else []


def subresources_errors(subresources: Object, path: FieldPath) -> FieldErrors:
    scale = subresources.get("scale")
    if scale is None:
        return []
    errors: FieldErrors = []
    for member, under in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        value, here = scale.get(member, ""), path.child(f"scale.{member}")
        if not value:
            errors.append(required(here))
        elif not value.startswith("."):
            errors += _simple_path(value, here)
        elif not value.startswith(f".{under}."):
            errors.append(invalid(here, value, f"should be a json path under .{under}"))
    selector, here = scale.get("labelSelectorPath", ""), path.child("scale.labelSelectorPath")
    if selector:
        if not selector.startswith("."):
            errors += _simple_path(selector, here)
        elif not selector.startswith((".spec.", ".status.")):
            errors.append(
                invalid(here, selector, "should be a json path under either .spec or .status")
            )
    return errors


def _simple_path(value: str, path: FieldPath) -> FieldErrors:
    return (
        []
        if value.startswith(".")
        else [invalid(path, value, "must be a simple json path starting with .")]
    )


def columns_errors(columns: Sequence[Object], path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    for i, column in enumerate(columns):
        here = path.at(i)
        if not column.get("name"):
            errors.append(required(here.child("name")))
        kind, format_ = column.get("type", ""), column.get("format", "")
        if not kind:
            errors.append(required(here.child("type"), f"must be one of {_COLUMN_TYPES}"))
        elif kind not in _COLUMN_TYPES.split(","):
            errors.append(invalid(here.child("type"), kind, f"must be one of {_COLUMN_TYPES}"))
        if format_ and format_ not in _COLUMN_FORMATS.split(","):
            errors.append(
                invalid(here.child("format"), format_, f"must be one of {_COLUMN_FORMATS}")
            )
        where = column.get("jsonPath", "")
        errors += (
            _simple_path(where, here.child("JSONPath"))
            if where
            else [required(here.child("JSONPath"))]
        )
    return errors


def selectable_errors(
    fields: Sequence[Object], props: Object | None, path: FieldPath, *, any_number: bool = False
) -> FieldErrors:
    """``any_number``: an update keeps a set that was too large before there was a limit."""
    if not fields:
        return []
    if props is None:
        return [
            invalid(
                path, "", "may only be set when `version.schema.openAPIV3Schema` is not included"
            )
        ]
    errors: FieldErrors = []
    schema = structural(props)
    seen: set[str] = set()
    for i, field in enumerate(fields):
        errors += _selectable_errors(
            field.get("jsonPath", ""), schema, seen, path.at(i).child("jsonPath")
        )
    if len(seen) > MAX_SELECTABLE_FIELDS and not any_number:
        errors.append(too_many(path, len(seen), MAX_SELECTABLE_FIELDS))
    return errors


def _selectable_errors(text: str, schema: Schema, seen: set[str], here: FieldPath) -> FieldErrors:
    """Of one field. ``seen``: the fields before it; it joins them when it is one."""
    if not text:
        return [required(here)]
    try:
        field, target = parse_field_path(text.partition("[")[0] or text, schema)
        if "[" in text:
            raise FieldPathError("array notation is not allowed")
    except FieldPathError as e:
        return [invalid(here, text, f"is an invalid path: {e}")]
    errors: FieldErrors = []
    if field.split(".")[0] == "metadata":
        errors.append(invalid(here, text, "must not point to fields in metadata"))
    if target.type not in ("string", "boolean", "integer"):
        what = (
            "must point to a field of type string, boolean or integer. Enum string "
            "fields and strings with formats are allowed."
        )
        errors.append(invalid(here, text, what))
    if field in seen:
        errors.append(duplicate(here, text))
    seen.add(field)
    return errors


def conversion_errors(
    conversion: Object | None,
    path: FieldPath,
    *,
    known_review: bool = True,
    any_bundle: bool = False,
) -> FieldErrors:
    """``known_review``: one of the review versions must be known to this server; ``any_bundle``:
    the CA bundle may be broken."""
    if conversion is None:
        return []
    webhook = conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    strategy = conversion.get("strategy", "")
    errors: FieldErrors = list(c.one_of(strategy, path.child("strategy"), ["None", "Webhook"]))
    here = path.child("webhookClientConfig")
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errors.append(forbidden(here, text))
        if versions:
            errors.append(forbidden(path.child("conversionReviewVersions"), text))
        return errors
    if config is None:
        errors.append(required(here, "required when strategy is set to Webhook"))
    else:
        errors += client_config_errors(config, here)
        errors += (
            []
            if any_bundle
            else bundle_errors(config.get("caBundle") or "", here.child("caBundle"))
        )
    return errors + _review_versions(versions, path.child("conversionReviewVersions"), known_review)


def _review_versions(versions: list[str], path: FieldPath, has_known: bool) -> FieldErrors:
    if not versions:
        return [required(path)]
    errors: FieldErrors = []
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(path.at(i), version, "duplicate version"))
        else:
            errors += [invalid(path.at(i), version, why) for why in dns1035_label(version)]
        seen.add(version)
    if has_known and not set(versions) & set(_REVIEW_VERSIONS):
        errors.append(
            invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")
        )
    return errors
