"""Selectors and templates of the apps group's workloads, which must fit each other."""

from __future__ import annotations

from apiserver.fielderrors import invalid, required
from apiserver.kinds.common import checks, selectors, templates
from apiserver.kinds.common.workload import SPEC
from apiserver.meta.objects import ReadOnlyObject
from apiserver.schema.labelselector import validate_label_selector

_SELECTOR = SPEC.child("selector")
_TEMPLATE = SPEC.child("template")


def required_selector(selector: ReadOnlyObject | None, empty: str) -> checks.Errors:
    """``empty``: the message for a selector that selects everything."""
    if selector is None:
        yield required(_SELECTOR)
        return
    yield from validate_label_selector(selector, _SELECTOR)
    if selectors.is_empty(selector):
        yield invalid(_SELECTOR, selectors.quoted(selector), empty)


def selector_kept(spec: ReadOnlyObject, old: ReadOnlyObject) -> checks.Errors:
    """A selector is immutable: another one would leave the workload's pods behind."""
    yield from checks.immutable(
        spec.get("selector"), old.get("selector"), _SELECTOR, quote=selectors.quoted
    )


def replica_set_template(spec: ReadOnlyObject) -> checks.Errors:
    """For Deployments and ReplicaSets; a selector that makes no sense is told instead of the
    template."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selectors.problem(selector):
        yield invalid(_SELECTOR, selectors.quoted(selector), "invalid label selector")
        return
    yield from templates.selected_template(template, selector, _TEMPLATE)
    yield from templates.always_running(template, _TEMPLATE, "ReplicaSet")
