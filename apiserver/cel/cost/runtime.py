"""What a call costs at run time (cel-go ``interpreter/runtimecost.go``; Kubernetes'
``pkg/cel/library/cost.go``).

Costs that depend on nothing but the call are numbers and are charged in bulk; the rest are
functions of the arguments and the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, Final

from apiserver.cel.scalars import Duration, Timestamp, Uint
from apiserver.cel.values import Joined, size
from apiserver.effort import spend

NEW_LIST: Final = 10
NEW_MAP: Final = 30
NEW_STRUCT: Final = 40

DynamicCost = Callable[[tuple[Any, ...], Any], int]


def _tenth(n: int) -> int:
    """ceil(n * 0.1) as float arithmetic gives it."""
    return ceil(n * 0.1)


def _first(args: tuple[Any, ...], _result: Any) -> int:
    return _tenth(size(args[0]))


def _both(args: tuple[Any, ...], _result: Any) -> int:
    return _tenth(size(args[0]) + size(args[1]))


def smaller(args: tuple[Any, ...], _result: Any) -> int:
    """Of comparing two values."""
    if type(args[0]) is str is type(args[1]):
        return _tenth(min(len(args[0]), len(args[1])))
    if getattr(args[0], "cel_unit_equality", False):
        return 1
    return _tenth(min(size(args[0]), size(args[1])))


def _regex(args: tuple[Any, ...], _result: Any) -> int:
    return ceil((1.0 + size(args[0])) * 0.1) * ceil(size(args[1]) * 0.25)


def _contains(args: tuple[Any, ...], _result: Any) -> int:
    return _tenth(size(args[0])) * _tenth(size(args[1]))


def _twice(args: tuple[Any, ...], _result: Any) -> int:
    return ceil(size(args[0]) * 2 * 0.1)


def _twice_result(_args: tuple[Any, ...], result: Any) -> int:
    return ceil(size(result) * 2 * 0.1)


_ONE_EACH = frozenset({int, float, bool, Uint, type(None), Duration, Timestamp})


def traversal(value: Any) -> int:
    """Of walking through a value once."""
    kind = type(value)
    if kind is str or kind is bytes:
        return int(_bytes_of(value) * 0.1)
    spend(1 + len(value) if isinstance(value, list) else 1)
    if isinstance(value, Joined):
        return sum(map(traversal, value))
    if isinstance(value, list):
        return len(value) if _ONE_EACH.issuperset(map(type, value)) else sum(map(traversal, value))
    if isinstance(value, Mapping):
        return sum(traversal(k) + traversal(v) for k, v in value.items())
    return 1


def _bytes_of(value: str | bytes) -> int:
    if isinstance(value, bytes) or value.isascii():
        return len(value)
    spend(len(value) // 100)
    return len(value.encode("utf-8", "surrogatepass"))


def _traverse_first(args: tuple[Any, ...], _result: Any) -> int:
    return traversal(args[0])


def _selector(args: tuple[Any, ...], _result: Any) -> int:
    length = size(args[1])
    return NEW_LIST + _tenth(length) + ceil(ceil(length * 0.5) * float(NEW_LIST + NEW_STRUCT))


def _validate(args: tuple[Any, ...], _result: Any) -> int:
    return ceil((1.0 + size(args[1])) * 0.1) * ceil(int(args[0].max_regex_size) * 0.25)


def _contains_ip(with_text: bool) -> DynamicCost:
    def cost(args: tuple[Any, ...], _result: Any) -> int:
        own = size(args[0])
        return _tenth(own + own) + (_tenth(size(args[1])) if with_text else 0)

    return cost


def _contains_cidr(with_text: bool) -> DynamicCost:
    def cost(args: tuple[Any, ...], _result: Any) -> int:
        own = size(args[0])
        return _tenth(own + own) + _tenth(own) + 1 + (_tenth(size(args[1])) if with_text else 0)

    return cost


def _size_of_second(args: tuple[Any, ...], _result: Any) -> int:
    return size(args[1])


def words(text: str) -> frozenset[str]:
    """Names written one after the other."""
    return frozenset(text.split())


UNIT_COST: Final = words(
    "serviceAccount path group resource subresource namespace name allowed reason error errored "
    "masked prefixLength family isUnspecified"
    " isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named sign "
    "asInteger isInteger asApproximateFloat"
    " isGreaterThan isLessThan compareTo add sub major minor patch getScheme getHostname getHost "
    "getPort getEscapedPath getQuery"
)
"""Functions whose calls cost one unit."""


def _product(factor: int) -> DynamicCost:
    return lambda args, _result: 1 + size(args[0]) * size(args[1]) * factor


def _new_list(_args: tuple[Any, ...], result: Any) -> int:
    return size(result) + 1 + NEW_LIST


def _reversed(args: tuple[Any, ...], _result: Any) -> int:
    return size(args[0]) + 1 + NEW_LIST


def _range(args: tuple[Any, ...], _result: Any) -> int:
    return max(int(args[0]), 0) + 1 + NEW_LIST


def _flatten(args: tuple[Any, ...], _result: Any) -> int:
    return size(args[0]) * (args[1] if len(args) == 2 else 1) + 1 + NEW_LIST


def _self_comparison(index: int) -> DynamicCost:
    def cost(args: tuple[Any, ...], _result: Any) -> int:
        items = args[index]
        first = None if not items else items.at(0) if type(items) is Joined else items[0]
        return (
            int(size(items) ** 2 * (2.1 if isinstance(first, str | bytes) else 2.0)) + 1 + NEW_LIST
        )

    return cost


_SORTABLE = (
    "int",
    "uint",
    "double",
    "bool",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "string",
    "bytes",
)
_BY_FUNCTION: Final[dict[str, int | DynamicCost]] = {
    "check": 350_000,
    **dict.fromkeys(UNIT_COST, 1),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _traverse_first
    ),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey"), _first
    ),
    **dict.fromkeys(("replace", "split"), _twice),
    "join": _twice_result,
    **dict.fromkeys(("find", "findAll"), _regex),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _first
    ),
    "ip.isCanonical": _twice,
    "validate": _validate,
}
_BY_OVERLOAD: Final[dict[str, int | DynamicCost]] = {
    "list_sets_contains_list": _product(1),
    "list_sets_intersects_list": _product(1),
    "list_sets_equivalent_list": _product(2),
    "list_slice": _new_list,
    "lists_range": _range,
    "list_reverse": _reversed,
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flatten),
    "list_distinct": _self_comparison(0),
    **{f"list_{kind}_sort": _self_comparison(0) for kind in _SORTABLE},
    **{f"list_{kind}_sortByAssociatedKeys": _self_comparison(1) for kind in _SORTABLE},
    **dict.fromkeys(
        (
            "starts_with_string",
            "ends_with_string",
            "string_to_bytes",
            "bytes_to_string",
            "strings_quote",
            "string_format",
        ),
        _first,
    ),
    "in_list": _size_of_second,
    **{
        f"{order}_{kind}": smaller
        for order in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
    "add_string": _both,
    "add_list": 1,
    "add_bytes": _both,
    "matches_string": _regex,
    "contains_string": _contains,
    "cidr_ip": 1,
    "cidr_contains_ip_string": _contains_ip(True),
    "cidr_contains_ip_ip": _contains_ip(False),
    "cidr_contains_cidr_string": _contains_cidr(True),
    "cidr_contains_cidr": _contains_cidr(False),
}


def call_cost(function: str, overload: str) -> int | DynamicCost:
    """Of a call without its arguments; ``overload`` "" when only the run time tells."""
    cost = _BY_OVERLOAD.get(overload)
    if cost is None:
        cost = _BY_FUNCTION.get(function)
    return 1 if cost is None else cost


RESULT_COSTS: Final = frozenset({_twice_result, _new_list})
"""Costs that only the result tells; all others are paid before the call."""
