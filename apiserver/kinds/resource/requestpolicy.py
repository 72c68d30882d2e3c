"""What a claim may ask of a capacity that several share: some values, or a range in steps
(KEP-5075; k8s.io/kubernetes ``apis/resource/validation``)."""

from __future__ import annotations

from itertools import pairwise

from apiserver.fielderrors import FieldPath, forbidden, invalid, required
from apiserver.kinds.common import checks as c
from apiserver.kinds.resource import devices as d
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity

_MOST_VALUES = 10
_BOTH = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the '
    "same time"
)


def policy_errors(policy: Object, capacity: str, path: FieldPath) -> c.Errors:
    """``capacity``: all that there is."""
    values, bounds = policy.get("validValues"), policy.get("validRange")
    if values and bounds is not None:
        yield forbidden(path, _BOTH)
        return
    for member, chosen in (("validValues", bool(values)), ("validRange", bounds is not None)):
        if not chosen:
            continue
        if policy.get("default") is None:
            yield required(path.child("default"), f"required when {member} is defined")
        elif values:
            yield from _values(policy, capacity, path.child(member))
        else:
            yield from _range(policy, capacity, path.child(member))


def _values(policy: Object, capacity: str, path: FieldPath) -> c.Errors:
    values, default, most = policy["validValues"], policy["default"], parse_quantity(capacity)
    for i, (one, following) in enumerate(pairwise(values)):
        if parse_quantity(one) > parse_quantity(following):
            yield invalid(path.at(i + 1), following, "values must be sorted in ascending order")

    def check(value: str, where: FieldPath) -> c.Errors:
        if parse_quantity(value) > most:
            yield invalid(where, value, f"option is larger than capacity value: {capacity}")

    def whole(value: str) -> str:
        return str(parse_quantity(value).scaled(0))

    yield from d.each_once(values, _MOST_VALUES, check, whole, path)
    wanted = parse_quantity(default)
    if len(values) > _MOST_VALUES or all(parse_quantity(v) != wanted for v in values):
        yield invalid(path, default, "default value is not valid according to the requestPolicy")


def _range(policy: Object, capacity: str, path: FieldPath) -> c.Errors:
    bounds, default, most = policy["validRange"], policy["default"], parse_quantity(capacity)
    low, high, step = (bounds.get(member) for member in ("min", "max", "step"))
    if low is None:
        yield required(path.child("min"), "required when validRange is defined")
        return
    wanted, least = parse_quantity(default), parse_quantity(low)
    if least > most:
        yield invalid(path.child("min"), low, f"min is larger than capacity value: {capacity}")
    if wanted < least:
        yield invalid(path.child("default"), default, f"default is less than min: {low}")
    if high is not None:
        greatest = parse_quantity(high)
        if least > greatest:
            yield invalid(path.child("max"), low, f"min is larger than max: {high}")
        if greatest > most:
            yield invalid(path.child("max"), high, f"max is larger than capacity value: {capacity}")
        if wanted > greatest:
            yield invalid(path.child("default"), default, f"default is more than max: {high}")
    if step is not None:
        yield from _steps([default, *([high] if high is not None else [])], low, step, most, path)


def _steps(values: list[str], low: str, step: str, most: Quantity, path: FieldPath) -> c.Errors:
    at, width, least = path.child("step"), parse_quantity(step), parse_quantity(low)
    if width.sign <= 0:
        yield invalid(at, step, c.NOT_POSITIVE)
        return
    first = least + width
    if first > most:
        yield invalid(at, step, f"one step {first} is larger than capacity value: {most}")
    for value in values:
        if (parse_quantity(value).scaled(0) - least.scaled(0)) % width.scaled(0):
            why = f"value is not a multiple of a given step ({step}) from ({low})"
            yield invalid(at, value, why)
