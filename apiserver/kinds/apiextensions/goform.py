"""Parts of a CustomResourceDefinition as messages quote them: in Go's JSON of the internal types,
which have no JSON names (k8s.io/apiextensions-apiserver ``apis/apiextensions/types.go``,
``types_jsonschema.go``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Set
from typing import Any

from apiserver.fielderrors import GoSyntax
from apiserver.golang.json import escape_html, in_key_order
from apiserver.kinds.apiextensions.hoisted import MEMBERS, shared
from apiserver.meta.objects import Object

Props = Mapping[str, Any]


def quoted(value: Any) -> GoSyntax:
    """A value of Go's members as the message shows it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return GoSyntax(escape_html(text.encode()).decode())


def quoted_schema(props: Props) -> GoSyntax:
    return quoted(_schema(props))


def quoted_items(items: Any) -> GoSyntax:
    """What ``items`` holds."""
    return quoted(_or_array(items))


def quoted_versions(versions: list[Object] | None) -> GoSyntax:
    """``spec.versions`` in the internal form: without what all versions share, which stands at the
    top there."""
    if versions is None:
        return quoted(None)
    hoisted = {name for name in MEMBERS if shared([v.get(name) for v in versions])}
    return quoted([_version(version, hoisted) for version in versions])


def _version(version: Object, hoisted: Set[str]) -> Object:
    own = {name: None if name in hoisted else version.get(name) for name in MEMBERS}
    columns, fields = own["additionalPrinterColumns"], own["selectableFields"]
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": own["schema"]
        and {"OpenAPIV3Schema": _optional(_schema)(own["schema"].get("openAPIV3Schema"))},
        "Subresources": _optional(_subresources)(own["subresources"]),
        "AdditionalPrinterColumns": columns and [_column(column) for column in columns],
        "SelectableFields": fields
        and [{"JSONPath": field.get("jsonPath", "")} for field in fields],
    }


def _subresources(value: Props) -> Object:
    scale = value.get("scale")
    scale_form = scale and {
        "SpecReplicasPath": scale.get("specReplicasPath", ""),
        "StatusReplicasPath": scale.get("statusReplicasPath", ""),
        "LabelSelectorPath": scale.get("labelSelectorPath"),
    }
    return {"Status": value.get("status"), "Scale": scale_form}


def _column(value: Props) -> Object:
    return {
        **{name: value.get(name.lower(), "") for name in ("Name", "Type", "Format", "Description")},
        "Priority": value.get("priority", 0),
        "JSONPath": value.get("jsonPath", ""),
    }


def _optional(show: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else show(value)


def _schema(props: Props) -> Object:
    return {go: show(props.get(name, zero)) for go, name, zero, show in _MEMBERS}


def _same(value: Any) -> Any:
    return value


def _list(value: Any) -> Any:
    return [_schema(member) for member in value] if value is not None else None


def _map(value: Any) -> Any:
    return {name: _schema(value[name]) for name in sorted(value)} if value is not None else None


def _or_array(value: Any) -> Any:
    if value is None:
        return None
    return {
        "Schema": _schema(value) if isinstance(value, dict) else None,
        "JSONSchemas": _list(value) if isinstance(value, list) else None,
    }


def _or_bool(value: Any) -> Any:
    if value is None:
        return None
    return {
        "Allows": value is not False,
        "Schema": _schema(value) if isinstance(value, dict) else None,
    }


def _dependencies(value: Any) -> Any:
    if value is None:
        return None
    dependency_form = {
        name: (_schema(v), None) if isinstance(v, dict) else (None, v)
        for name, v in sorted(value.items())
    }
    return {
        name: {"Schema": schema, "Property": names}
        for name, (schema, names) in dependency_form.items()
    }


def _docs(value: Any) -> Any:
    return {"Description": value.get("description", ""), "URL": value.get("url", "")}


def _rules(value: Any) -> Any:
    return value and [
        {
            "Rule": rule.get("rule", ""),
            "Message": rule.get("message", ""),
            "MessageExpression": rule.get("messageExpression", ""),
            "Reason": rule.get("reason"),
            "FieldPath": rule.get("fieldPath", ""),
            "OptionalOldSelf": rule.get("optionalOldSelf"),
        }
        for rule in value
    ]


_MEMBERS: tuple[tuple[str, str, Any, Callable[[Any], Any]], ...] = (
    ("ID", "id", "", _same),
    ("Schema", "$schema", "", _same),
    ("Ref", "$ref", None, _same),
    ("Description", "description", "", _same),
    ("Type", "type", "", _same),
    ("Nullable", "nullable", False, _same),
    ("Format", "format", "", _same),
    ("Title", "title", "", _same),
    ("Default", "default", None, in_key_order),
    ("Maximum", "maximum", None, _same),
    ("ExclusiveMaximum", "exclusiveMaximum", False, _same),
    ("Minimum", "minimum", None, _same),
    ("ExclusiveMinimum", "exclusiveMinimum", False, _same),
    ("MaxLength", "maxLength", None, _same),
    ("MinLength", "minLength", None, _same),
    ("Pattern", "pattern", "", _same),
    ("MaxItems", "maxItems", None, _same),
    ("MinItems", "minItems", None, _same),
    ("UniqueItems", "uniqueItems", False, _same),
    ("MultipleOf", "multipleOf", None, _same),
    ("Enum", "enum", None, in_key_order),
    ("MaxProperties", "maxProperties", None, _same),
    ("MinProperties", "minProperties", None, _same),
    ("Required", "required", None, _same),
    ("Items", "items", None, _or_array),
    ("AllOf", "allOf", None, _list),
    ("OneOf", "oneOf", None, _list),
    ("AnyOf", "anyOf", None, _list),
    ("Not", "not", None, _optional(_schema)),
    ("Properties", "properties", None, _map),
    ("AdditionalProperties", "additionalProperties", None, _or_bool),
    ("PatternProperties", "patternProperties", None, _map),
    ("Dependencies", "dependencies", None, _dependencies),
    ("AdditionalItems", "additionalItems", None, _or_bool),
    ("Definitions", "definitions", None, _map),
    ("ExternalDocs", "externalDocs", None, _optional(_docs)),
    ("Example", "example", None, in_key_order),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None, _same),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False, _same),
    ("XIntOrString", "x-kubernetes-int-or-string", False, _same),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None, _same),
    ("XListType", "x-kubernetes-list-type", None, _same),
    ("XMapType", "x-kubernetes-map-type", None, _same),
    ("XValidations", "x-kubernetes-validations", None, _rules),
)
"""(name in Go, name in JSON, zero value, how it is shown), in the order of the struct."""


def set_members(props: Props) -> list[str]:
    """Names in Go of the members that are not zero, in the order of the struct."""
    return [go for go, name, zero, _ in _MEMBERS if not _is_zero(props.get(name, zero), zero)]


def _is_zero(value: Any, zero: Any) -> bool:
    """0 and false behind a pointer are not zero."""
    return type(value) is type(zero) and bool(value == zero)
