"""Deployments, DaemonSets, StatefulSets and ReplicaSets of extensions/v1beta1, apps/v1beta1 and
apps/v1beta2 to apps/v1."""

from __future__ import annotations

from controlplane.convert.rule import Conversion, as_object

_UNLIMITED = 2147483647
"""How apps/v1 says "no deadline" and "keep all"."""


def _selector(conversion: Conversion) -> None:
    """The selector is required now; it used to default to the template's labels."""
    spec = conversion.spec
    if as_object(spec, "selector") is not None:
        return
    template = as_object(spec, "template") or {}
    labels = (as_object(template, "metadata") or {}).get("labels")
    if isinstance(labels, dict) and labels:
        spec["selector"] = {"matchLabels": dict(labels)}
        conversion.note(
            "spec.selector: required now; taken from the template's labels, which was the default"
        )
    else:
        conversion.note(
            "spec.selector: required now, and the template has no labels to take it from; write one"
        )


def replica_set(conversion: Conversion) -> None:
    _selector(conversion)


def deployment(conversion: Conversion) -> None:
    _selector(conversion)
    spec, version = conversion.spec, conversion.source.api_version
    if spec.pop("rollbackTo", None) is not None:
        conversion.note("spec.rollbackTo: removed; use kubectl rollout undo")
    if version == "extensions/v1beta1":
        conversion.keep_default(spec, "progressDeadlineSeconds", _UNLIMITED, "spec")
        conversion.keep_default(spec, "revisionHistoryLimit", _UNLIMITED, "spec")
        _rolling_by_one(conversion)
    elif version == "apps/v1beta1":
        conversion.keep_default(spec, "revisionHistoryLimit", 2, "spec")


def _rolling_by_one(conversion: Conversion) -> None:
    strategy = as_object(conversion.spec, "strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return
    rolling = as_object(strategy, "rollingUpdate") or {}
    for name in ("maxSurge", "maxUnavailable"):
        conversion.keep_default(rolling, name, 1, "spec.strategy.rollingUpdate")
    conversion.spec["strategy"] = {**strategy, "rollingUpdate": rolling}


def daemon_set(conversion: Conversion) -> None:
    _selector(conversion)
    spec = conversion.spec
    if spec.pop("templateGeneration", None) is not None:
        conversion.note("spec.templateGeneration: removed")
    if conversion.source.api_version == "extensions/v1beta1":
        _on_delete(conversion)


def stateful_set(conversion: Conversion) -> None:
    _selector(conversion)
    if conversion.source.api_version == "apps/v1beta1":
        _on_delete(conversion)


def _on_delete(conversion: Conversion) -> None:
    strategy = as_object(conversion.spec, "updateStrategy") or {}
    conversion.keep_default(strategy, "type", "OnDelete", "spec.updateStrategy")
    conversion.spec["updateStrategy"] = strategy
