"""LimitRanger: fills in the requests and limits that a LimitRange gives to containers, and refuses
what is outside its bounds.

Source: kubernetes ``plugin/pkg/admission/limitranger``. The plugin fetches the LimitRanges, the
functions below it know nothing but what they are handed; `apply_defaults` changes the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from admission.attributes import Attributes, Lookup
from admission.refusal import forbidden
from apiserver.errors import aggregate
from apiserver.kinds.common import podresources
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity

Amounts = Mapping[str, Quantity]

LIMIT_RANGES, PODS, CLAIMS = (
    GroupResource("", r) for r in ("limitranges", "pods", "persistentvolumeclaims")
)
ANNOTATION = "kubernetes.io/limit-ranger"
MOST_DEFAULTS = 20_000
"""Containers of a pod times the default amounts of one LimitRange, whether or not they state their
own; upstream knows no limit but that of the object."""
_LARGEST_FOR_MILLI = ((1 << 63) - 1) // 1000


class LimitRanger:
    name = "LimitRanger"

    def handles(self, attributes: Attributes) -> bool:
        """What a pod's containers request changes only through resize, so other updates are not
        looked at; claims may grow."""
        if attributes.group_resource == PODS:
            if attributes.subresource == "resize":
                return attributes.operation == "UPDATE"
            return not attributes.subresource and attributes.operation == "CREATE"
        return (
            attributes.group_resource == CLAIMS
            and not attributes.subresource
            and attributes.operation in ("CREATE", "UPDATE")
        )

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.object is None or attributes.group_resource != PODS:
            return
        for limits in await lookup.list(LIMIT_RANGES, attributes.namespace):
            try:
                apply_defaults(attributes.object, _items(limits))
            except TooManyDefaults as error:
                raise forbidden(attributes, str(error)) from None

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        obj, old = attributes.object, attributes.old
        if obj is None or (old is not None and old["metadata"].get("deletionTimestamp")):
            return
        for limits in await lookup.list(LIMIT_RANGES, attributes.namespace):
            check = pod_errors if attributes.group_resource == PODS else claim_errors
            errors = check(obj, _items(limits))
            if errors:
                raise forbidden(attributes, aggregate(errors))


def _items(limit_range: Object) -> list[Object]:
    return (limit_range.get("spec") or {}).get("limits") or []


# --- defaults -------------------------------------------------------------------------------------
class TooManyDefaults(ValueError):
    """The text says how many, for the client."""


def apply_defaults(pod: Object, items: Sequence[Object]) -> None:
    """Gives every container what ``items`` (spec.limits) say by default, and notes in an annotation
    what was set; in place.

    Raises TooManyDefaults: two objects of a megabyte, a pod and a LimitRange, would make one of
    many gigabytes."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for item in items:
        if item.get("type") == "Container":
            requests |= item.get("defaultRequest") or {}
            limits |= item.get("default") or {}
    notes: list[str] = []
    spec = pod.get("spec") or {}
    count = sum(len(spec.get(member) or ()) for member in ("containers", "initContainers")) * (
        len(requests) + len(limits)
    )
    if count > MOST_DEFAULTS:
        raise TooManyDefaults(
            f"a LimitRange gives {count} defaults to its containers, more than {MOST_DEFAULTS}"
        )
    for member, what in (("containers", "container"), ("initContainers", "init container")):
        for container in spec.get(member) or []:
            notes += _complete(container, requests, limits, what)
    if notes:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)


def _complete(
    container: Object, requests: Mapping[str, str], limits: Mapping[str, str], what: str
) -> list[str]:
    resources = container.setdefault("resources", {})
    notes = []
    for member, defaults in (("requests", requests), ("limits", limits)):
        missing = sorted(set(defaults) - set(resources.get(member) or {}))
        if missing:
            resources[member] = {
                **(resources.get(member) or {}),
                **{name: defaults[name] for name in missing},
            }
            notes.append(
                f"{', '.join(missing)} {member[:-1]} for {what} {container.get('name', '')}"
            )
    return notes


# --- bounds ---------------------------------------------------------------------------------------
def pod_errors(pod: Object, items: Sequence[Object]) -> list[str]:
    """What of the pod is outside the bounds of ``items``."""
    spec = pod.get("spec") or {}
    regular, initial = spec.get("containers") or [], spec.get("initContainers") or []
    errors: list[str] = []
    for item in items:
        if item.get("type") == "Container":
            for container in [*regular, *initial]:
                errors += _bounds(
                    item,
                    "Container",
                    _amounts(container, "requests"),
                    _amounts(container, "limits"),
                )
        elif item.get("type") == "Pod":
            errors += _bounds(
                item,
                "Pod",
                *(_pod_total(spec, member) for member in ("requests", "limits")),
            )
    return errors


def claim_errors(claim: Object, items: Sequence[Object]) -> list[str]:
    """What of the PersistentVolumeClaim is outside the bounds of ``items``."""
    requests = _amounts(claim.get("spec") or {}, "requests")
    errors: list[str] = []
    for item in items:
        if item.get("type") != "PersistentVolumeClaim":
            continue
        for name, bound in _each(item, "min"):
            errors += _below(name, "PersistentVolumeClaim", bound, requests, {})
        for name, bound in _each(item, "max"):
            errors += _above_request(name, "PersistentVolumeClaim", bound, requests)
    return errors


def _amounts(owner: Object, member: str) -> dict[str, Quantity]:
    return {
        name: parse_quantity(text)
        for name, text in ((owner.get("resources") or {}).get(member) or {}).items()
    }


def _each(item: Object, member: str) -> Iterable[tuple[str, Quantity]]:
    return ((name, parse_quantity(text)) for name, text in sorted((item.get(member) or {}).items()))


def _pod_total(spec: Object, member: str) -> dict[str, Quantity]:
    """What the containers need at once; of cpu and memory, what the pod says for itself."""
    own = podresources.amounts(spec, member)
    said = {name: own[name] for name in ("cpu", "memory") if name in own}
    return podresources.total(spec, member) | said


def _bounds(item: Object, kind: str, requests: Amounts, limits: Amounts) -> list[str]:
    errors: list[str] = []
    for name, bound in _each(item, "min"):
        errors += _below(name, kind, bound, requests, limits)
    for name, bound in _each(item, "max"):
        errors += _above(name, kind, bound, requests, limits)
    for name, bound in _each(item, "maxLimitRequestRatio"):
        errors += _ratio(name, kind, bound, requests.get(name), limits.get(name))
    return errors


def _below(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> list[str]:
    text = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        return [f"{text}.  No request is specified"]
    if requests[name] < bound:
        return [f"{text}, but request is {requests[name]}"]
    return (
        [f"{text}, but limit is {limits[name]}"] if name in limits and limits[name] < bound else []
    )


def _above(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> list[str]:
    text = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        return [f"{text}.  No limit is specified"]
    if limits[name] > bound:
        return [f"{text}, but limit is {limits[name]}"]
    return (
        [f"{text}, but request is {requests[name]}"]
        if name in requests and requests[name] > bound
        else []
    )


def _above_request(name: str, kind: str, bound: Quantity, requests: Amounts) -> list[str]:
    text = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        return [f"{text}.  No request is specified"]
    return [f"{text}, but request is {requests[name]}"] if requests[name] > bound else []


def _ratio(
    name: str, kind: str, bound: Quantity, request: Quantity | None, limit: Quantity | None
) -> list[str]:
    text = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or request.is_zero:
        return [f"{text}, but no request is specified or request is 0"]
    if limit is None or limit.is_zero:
        return [f"{text}, but no limit is specified or limit is 0"]
    scale = (
        -3 if max(request.scaled(0), limit.scaled(0), bound.scaled(0)) <= _LARGEST_FOR_MILLI else 0
    )
    ratio = limit.scaled(scale) / request.scaled(scale)
    allowed = bound.scaled(-3) / 1000 if scale else bound.scaled(0)
    return [f"{text}, but provided ratio is {ratio:f}"] if ratio > allowed else []
