"""The spec of a PersistentVolumeClaim, as a claim and as a template in pods and StatefulSets."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.fielderrors import FieldPath, forbidden, invalid, not_supported, required
from apiserver.kinds.common import checks, resources
from apiserver.kinds.common.amounts import round_members, round_requirements
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.schema.labelselector import validate_label_selector, validate_labels

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def default_claim_spec(spec: Object) -> None:
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    round_requirements(spec.get("resources"))


def default_claim_status(status: Object) -> None:
    status["phase"] = status.get("phase") or "Pending"
    round_members(status, "capacity", "allocatedResources")


def template(value: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """A claim template: metadata and a spec."""
    yield from template_metadata(value.get("metadata") or {}, path.child("metadata"))
    yield from claim_spec(value.get("spec") or {}, path.child("spec"))


def template_metadata(metadata: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """Of what claims are made from: nothing but labels and annotations."""
    yield from checks.annotation_map(metadata.get("annotations"), path.child("annotations"))
    yield from validate_labels(metadata.get("labels"), path.child("labels"))
    for field, content in metadata.items():
        if field not in ("annotations", "labels") and (content or content == []):
            yield forbidden(path.child("uID" if field == "uid" else field), "cannot be set")


def access_modes(modes: Sequence[str], path: FieldPath) -> checks.Errors:
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(path, mode, [*ACCESS_MODES])
    if "ReadWriteOncePod" in modes and any(
        m in ACCESS_MODES and m != "ReadWriteOncePod" for m in modes
    ):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def claim_spec(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(path.child("accessModes"), "at least 1 access mode is required")
    yield from validate_label_selector(spec.get("selector"), path.child("selector"))
    yield from access_modes(modes, path.child("accessModes"))
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    at = path.child("resources").key("storage")
    if storage is None:
        yield required(at)
    else:
        yield from resources.positive_amount(storage, at)
    for field in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(field):
            yield from checks.dns_subdomain(spec[field], path.child(field))
    yield from checks.optional_one_of(
        spec.get("volumeMode"), path.child("volumeMode"), VOLUME_MODES
    )
    yield from _data_sources(spec, path)


def _data_sources(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    for field, value in (("dataSource", source), ("dataSourceRef", ref)):
        if value is not None:
            yield from _data_source(value, path.child(field))
    if ref is not None and ref.get("namespace"):
        yield from checks.dns_label(ref["namespace"], path.child("dataSourceRef", "namespace"))
    if source is None or ref is None:
        return
    if ref.get("namespace"):
        yield invalid(
            path,
            {},  # a path, which has no exported members
            "may not be specified when dataSourceRef.namespace is specified",
        )
    elif any(source.get(f) != ref.get(f) for f in ("apiGroup", "kind", "name")):
        yield invalid(path, {}, "must match dataSourceRef")


def _data_source(value: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    for field in ("name", "kind"):
        if not value.get(field):
            yield required(path.child(field))
    group = value.get("apiGroup") or ""
    if not group and value.get("kind") != "PersistentVolumeClaim":
        yield invalid(
            path,
            value.get("kind", ""),
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        )
    if group:
        yield from checks.dns_subdomain(group, path.child("apiGroup"))
