"""Validation of a CustomResourceDefinition's spec and status (k8s.io/apiextensions-apiserver
``apis/apiextensions/validation``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, required
from apiserver.kinds.apiextensions.cabundle import bundle_of, bundle_problem
from apiserver.kinds.apiextensions.defaultvalues import default_errors
from apiserver.kinds.apiextensions.goform import quoted, quoted_schema, quoted_versions, set_members
from apiserver.kinds.apiextensions.hoisted import SPEC, Part, has_status, parts
from apiserver.kinds.apiextensions.members import (
    MAX_SELECTABLE_FIELDS,
    columns_errors,
    conversion_errors,
    names_errors,
    selectable_errors,
    subresources_errors,
)
from apiserver.kinds.apiextensions.openapi import (
    Rules,
    every_node,
    key_errors,
    non_atomic_items,
    schema_errors,
)
from apiserver.kinds.apiextensions.schemas import compiled
from apiserver.kinds.common import checks as c
from apiserver.meta.names import dns1035_label, dns1123_subdomain
from apiserver.meta.objects import Object
from apiserver.schema.structural_rules import conversion_error, structural_errors

_AT_ROOT = (
    *(
        "Description",
        "Type",
        "Format",
        "Title",
        "Maximum",
        "ExclusiveMaximum",
        "Minimum",
        "ExclusiveMinimum",
        "MaxLength",
        "MinLength",
    ),
    *(
        "Pattern",
        "MaxItems",
        "MinItems",
        "UniqueItems",
        "MultipleOf",
        "Required",
        "Items",
        "Properties",
        "ExternalDocs",
        "Example",
    ),
    *("XPreserveUnknownFields", "XValidations"),
)
"""What the root of a schema may hold beside a status subresource, by the names of Go."""


@dataclass(frozen=True, slots=True)
class Options:
    """What an update does not ask of a definition that was stored without it. unchanged: indexes of
    versions whose schema stays; any_bundle: the conversion webhook's CA bundle may be broken, as
    long as nothing is served."""

    rules: Rules = field(default_factory=Rules)
    structural: bool = True
    pruned_defaults: bool = True
    schema_required: bool = True
    known_review: bool = True
    any_bundle: bool = True
    unchanged: frozenset[int] = frozenset()
    old_fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def for_update(cls, new: Object, old: Object, *, established: bool) -> Options:
        before = {v.get("name"): v for v in old.get("versions") or ()}
        schemas = [s for v in before.values() if (s := _props(v)) is not None]
        nodes = [node for s in schemas for node in every_node(s)]
        same = frozenset(
            i
            for i, v in enumerate(new.get("versions") or ())
            if v.get("name") in before and _props(v) == _props(before[v["name"]])
        )
        webhook = (old.get("conversion") or {}).get("webhook") or {}
        review = webhook.get("conversionReviewVersions") or []
        nowhere = FieldPath("")
        return cls(
            rules=Rules(
                known_types=not any(n.get("type", "string") not in _KNOWN for n in nodes),
                atomic_sets=not any(non_atomic_items(n, nowhere) for n in nodes),
                key_rules=not any(key_errors(n, nowhere) for n in nodes),
            ),
            structural=not any(
                conversion_error(s) or structural_errors(s, nowhere) for s in schemas
            ),
            schema_required=len(schemas) == len(before),
            known_review=not review or bool({"v1", "v1beta1"} & set(review)),
            any_bundle=not established or bool(bundle_problem(bundle_of(old))),
            unchanged=same,
            old_fields={name: v.get("selectableFields") for name, v in before.items()},
        )


_KNOWN = ("string", "number", "integer", "boolean", "array", "object", "")


def _props(version: Object) -> Object | None:
    props: Object | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return props


def spec_errors(spec: Object, options: Options) -> FieldErrors:
    """In kube-apiserver's order: what is the same in all versions stands at the top of the internal
    definition, and so after what belongs to one version."""
    errors = _group_and_scope(spec)
    versions = spec.get("versions") or []
    if options.schema_required:
        errors += [
            required(SPEC.child("versions").at(i).child("schema", "openAPIV3Schema"))
            for i, version in enumerate(versions)
            if _props(version) is None
        ]
    errors += _default_values_errors(spec, versions)
    by_version: list[FieldErrors] = [[] for _ in versions]
    top: FieldErrors = []
    _version_names(versions, by_version)
    for part, part_errors in _parts_errors(spec, options):
        if len(part.versions) == len(versions):
            top += part_errors
        else:
            by_version[part.versions[0]] += part_errors
    errors += [e for part_errors in by_version for e in part_errors]
    errors += _versions_errors(spec.get("versions"))
    names, here = spec.get("names") or {}, SPEC.child("names")
    errors += [
        required(here.child(n))
        for n in ("plural", "singular", "kind", "listKind")
        if not names.get(n)
    ]
    return errors + names_errors(names, here) + top + _conversion_errors(spec, options)


def _default_values_errors(spec: Object, versions: list[Object]) -> FieldErrors:
    if not spec.get("preserveUnknownFields"):
        return []
    schemas = (props for v in versions if (props := _props(v)) is not None)
    if not any("default" in node for props in schemas for node in every_node(props)):
        return []
    text = "must be false in order to use defaults in the schema"
    return [invalid(SPEC.child("preserveUnknownFields"), True, text)]


def _conversion_errors(spec: Object, options: Options) -> FieldErrors:
    conversion, here = spec.get("conversion"), SPEC.child("conversion")
    strategy = (conversion or {}).get("strategy", "None")
    errors: FieldErrors = []
    if spec.get("preserveUnknownFields") and strategy != "None":
        text = "must be None if spec.preserveUnknownFields is true"
        errors.append(invalid(here.child("strategy"), strategy, text))
    return errors + conversion_errors(
        conversion, here, known_review=options.known_review, any_bundle=options.any_bundle
    )


def _group_and_scope(spec: Object) -> FieldErrors:
    errors: FieldErrors = []
    group, here = spec.get("group", ""), SPEC.child("group")
    if not group:
        errors.append(required(here))
    elif wrong := dns1123_subdomain(group):
        errors.append(invalid(here, group, ",".join(wrong)))
    elif "." not in group:
        errors.append(invalid(here, group, "should be a domain with at least one dot"))
    return errors + list(
        c.one_of(spec.get("scope", ""), SPEC.child("scope"), ["Cluster", "Namespaced"])
    )


def _version_names(versions: list[Object], errors: list[FieldErrors]) -> None:
    for i, version in enumerate(versions):
        here = SPEC.child("versions").at(i)
        if wrong := dns1035_label(version.get("name", "")):
            errors[i].append(invalid(here.child("name"), version.get("name", ""), ",".join(wrong)))
        errors[i] += _deprecation(version, here.child("deprecationWarning"))


def _deprecation(version: Object, path: FieldPath) -> FieldErrors:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    shown = quoted(warning)
    if not version.get("deprecated"):
        return [invalid(path, shown, "can only be set for deprecated versions")]
    errors: FieldErrors = []
    if len(warning.encode()) > 256:
        errors.append(invalid(path, shown, "must be <= 256 characters long"))
    if not warning:
        errors.append(invalid(path, shown, "must not be an empty string"))
    for i, char in enumerate(warning):
        if not char.isprintable():
            at = len(warning[:i].encode())
            text = (
                f"must only contain printable UTF-8 characters; non-printable character "
                f"found at index {at}"
            )
            errors.append(invalid(path, shown, text))
            break
    return errors


def _versions_errors(written: list[Object] | None) -> FieldErrors:
    """The internal form has the name of the first version once more, as ``spec.version``."""
    versions, here = written or [], SPEC.child("versions")
    errors: FieldErrors = []
    first = versions[0].get("name", "") if versions else ""
    if first and (wrong := dns1035_label(first)):
        errors.append(invalid(SPEC.child("version"), first, ",".join(wrong)))
    if len({v.get("name", "") for v in versions}) < len(versions):
        errors.append(invalid(here, quoted_versions(versions), "must contain unique version names"))
    if sum(bool(v.get("storage")) for v in versions) != 1:
        errors.append(
            invalid(
                here,
                quoted_versions(written),
                "must have exactly one version marked as storage version",
            )
        )
    return errors


def _parts_errors(spec: Object, options: Options) -> list[tuple[Part, FieldErrors]]:
    """Of schemas, subresources, columns and selectable fields, each with where it belongs."""
    versions = spec.get("versions") or []
    parts_with_errors: list[tuple[Part, FieldErrors]] = []
    for part in parts(spec, "schema"):
        props = part.value.get("openAPIV3Schema")
        if props is not None:
            status = any(has_status(versions[i]) for i in part.versions)
            parts_with_errors.append((part, _schema_errors(props, part, status, options)))
    parts_with_errors += [
        (part, subresources_errors(part.value, part.path)) for part in parts(spec, "subresources")
    ]
    parts_with_errors += [
        (part, columns_errors(part.value, part.path))
        for part in parts(spec, "additionalPrinterColumns")
    ]
    hoisted = all(v.get("schema") == versions[0].get("schema") for v in versions)
    for part in parts(spec, "selectableFields"):
        version = versions[part.versions[0]]
        before = options.old_fields.get(version.get("name", "")) or []
        kept = len(before) > MAX_SELECTABLE_FIELDS and before == part.value
        parts_with_errors.append((part, _selectable_errors(part, _props(version), hoisted, kept)))
    return parts_with_errors


def _selectable_errors(part: Part, props: Object | None, hoisted: bool, kept: bool) -> FieldErrors:
    """kube-apiserver finds no schema beside fields where one of the two is the same for all
    versions and the other is not."""
    at_top = part.path == SPEC.child("selectableFields")
    if at_top and part.value and (props is None or not hoisted):
        return [invalid(part.path, "", "may only be set when validations.schema is included")]
    if hoisted and not at_top:
        return [
            invalid(
                part.path,
                "",
                "may only be set when `version.schema.openAPIV3Schema` is not included",
            )
        ]
    return selectable_errors(part.value, props, part.path, any_number=kept)


def _schema_errors(props: Object, part: Part, status: bool, options: Options) -> FieldErrors:
    path = part.path.child("openAPIV3Schema")
    errors = _root_errors(props, part.path, status)
    unreadable, sound = "", False
    if options.structural:
        unreadable = conversion_error(props)
        if not unreadable:
            problems = structural_errors(props, path) or default_errors(
                compiled(props), path, pruned=options.pruned_defaults
            )
            errors += problems
            sound = not problems
    problems = schema_errors(props, path, options.rules)
    errors += problems
    if compiled(props).below.rules:
        same = part.versions[0] in options.unchanged
        errors += check_rules(
            compiled(props),
            path,
            suppress_rule_cost=same,
            compiles=sound,
            broken=[e.path for e in problems],
        )
    if unreadable and not errors:
        errors.append(invalid(path, "", unreadable))
    return errors


def _root_errors(props: Object, path: FieldPath, status: bool) -> FieldErrors:
    errors: FieldErrors = []
    if status:
        kind = props.get("type", "")
        for name in set_members(props):
            if name == "Type" and kind != "object":
                text = (
                    'only "object" is allowed as the type at the root of the schema if '
                    "the status subresource is enabled"
                )
                errors.append(invalid(path.child("openAPIV3Schema.type"), kind, text))
                break
            if name not in _AT_ROOT:
                text = (
                    f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if "
                    "the status subresource is enabled"
                )
                errors.append(invalid(path.child("openAPIV3Schema"), quoted_schema(props), text))
                break
    if props.get("nullable"):
        errors.append(
            forbidden(path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root")
        )
    return errors


# --- status, and what is not set any more ---------------------------------------------------------


def stored_versions_errors(stored: list[str] | None, versions: list[Object]) -> FieldErrors:
    path = FieldPath("status.storedVersions")
    if not stored:
        return [invalid(path, stored, "must have at least one stored version")]
    errors: FieldErrors = []
    listed = set(stored)
    for version in versions:
        if version.get("storage") and version.get("name") not in listed:
            errors.append(
                invalid(path, stored, f"must have the storage version {version.get('name', '')}")
            )
        listed.discard(version.get("name", ""))  # each counts for one version only
    names = {v.get("name") for v in versions}
    for i, name in enumerate(stored):
        if name not in names:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage "
                f"migration ensures no data remains persisted in {name} and removes {name} from "
                "status.storedVersions"
            )
            errors.append(invalid(path.at(i), name, text))
    return errors


def preserve_errors(new: Object, old: Object | None) -> FieldErrors:
    if old is not None and old.get("spec", {}).get("preserveUnknownFields"):
        return []
    if not new.get("spec", {}).get("preserveUnknownFields"):
        return []
    text = (
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead"
    )
    return [invalid(SPEC.child("preserveUnknownFields"), True, text)]
