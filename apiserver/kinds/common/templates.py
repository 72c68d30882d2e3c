"""Pod templates: their own rules, and those of the workloads that own them."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.fielderrors import FieldPath, forbidden, invalid, not_supported
from apiserver.kinds.common import checks, podannotations, podspec, selectors
from apiserver.meta.objects import ReadOnlyObject
from apiserver.schema.labelselector import validate_labels


def pod_template(template: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations")
    yield from validate_labels(metadata.get("labels"), path.child("labels"))
    yield from checks.annotation_map(annotations, path.child("annotations"))
    yield from podannotations.validate(annotations, spec, path.child("annotations"))
    yield from podspec.pod_spec(spec, path.child("spec"))
    yield from podannotations.match_fields(annotations, spec, path.child("spec"))
    if spec.get("ephemeralContainers"):
        yield forbidden(
            path.child("spec", "ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        )


def selected_template(
    template: ReadOnlyObject, selector: ReadOnlyObject | None, path: FieldPath
) -> checks.Errors:
    """The template of a workload whose selector must pick the template's own labels; an empty
    selector is not asked."""
    labels = (template.get("metadata") or {}).get("labels")
    if (selector is None or not selectors.is_empty(selector)) and not selectors.matches(
        selector, labels
    ):
        yield invalid(
            path.child("metadata", "labels"), labels, "`selector` does not match template `labels`"
        )
    yield from pod_template(template, path)


def always_running(template: ReadOnlyObject, path: FieldPath, kind: str) -> checks.Errors:
    """What templates of controllers that keep pods running must not say; ``kind``: as the message
    names the controller."""
    spec = template.get("spec") or {}
    yield from restart_policy(spec, path, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        yield forbidden(
            path.child("spec", "activeDeadlineSeconds"),
            f"activeDeadlineSeconds in {kind} is not Supported",
        )


def restart_policy(
    spec: ReadOnlyObject, path: FieldPath, supported: Sequence[str]
) -> checks.Errors:
    """``path``: of the template."""
    if spec.get("restartPolicy", "") not in supported:
        yield not_supported(
            path.child("spec", "restartPolicy"), spec.get("restartPolicy", ""), list(supported)
        )
