"""What of its pods' template a suspended Job may change: where they run (KEP-2926) and what they
get (KEP-5440); k8s.io/kubernetes ``registry/batch/job`` and ``apis/batch/validation``."""

from __future__ import annotations

from functools import partial

from apiserver.kinds.batch.jobstatus import has
from apiserver.kinds.common import checks
from apiserver.kinds.common.alike import alike
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.workload import SPEC
from apiserver.meta.objects import Object

_TEMPLATE = "core.v1.PodTemplateSpec"
_PODS = "core.v1.PodSpec"
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def template_errors(obj: Object, old: Object) -> checks.Errors:
    """A job that has started must have been seen to be suspended, and its pods must be gone."""
    new, before = obj["spec"].get("template") or {}, old["spec"].get("template") or {}
    if not _open(old):
        yield from checks.immutable(
            new,
            before,
            SPEC.child("template"),
            quote=partial(quote, _TEMPLATE),
            same=partial(alike, _TEMPLATE),
        )
        return
    pods, were = new.get("spec") or {}, before.get("spec") or {}
    if not alike(_PODS, _fixed(pods, were), were):
        text = quote(_PODS, pods)
        yield from checks.immutable(text, None, SPEC.child("template", "spec"))


def _open(old: Object) -> bool:
    status = old.get("status") or {}
    seen = status.get("startTime") is None or has(old, "Suspended")
    return bool(old["spec"].get("suspend")) and seen and not status.get("active")


def _fixed(pods: Object, were: Object) -> Object:
    """The new pods with what may change put back."""
    fixed = _put_back(pods, were, _SCHEDULING)
    for member in ("containers", "initContainers"):
        fixed |= _with_resources(fixed, were, member)
    affinity = _put_back(pods.get("affinity") or {}, were.get("affinity") or {}, ("nodeAffinity",))
    fixed.pop("affinity", None)
    if affinity or were.get("affinity") is not None:
        fixed["affinity"] = affinity
    return fixed


def _with_resources(pods: Object, were: Object, member: str) -> Object:
    """The containers with the resources that those at the same place had."""
    listed, before = pods.get(member), were.get(member)
    if not listed or not before or len(listed) != len(before):
        return {}
    return {
        member: [
            _put_back(new, old, ("resources",)) for new, old in zip(listed, before, strict=True)
        ]
    }


def _put_back(new: Object, before: Object, fields: tuple[str, ...]) -> Object:
    return {k: v for k, v in new.items() if k not in fields} | {
        k: before[k] for k in fields if k in before
    }
