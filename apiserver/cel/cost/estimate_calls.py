"""Estimated costs of the calls that Kubernetes knows better (k8s.io/apiserver
``pkg/cel/library/cost.go``), and of cel-go's extensions (``ext``). All other calls cost what the
standard rules say, in `apiserver.cel.cost.estimate`."""

from __future__ import annotations

from math import ceil

from apiserver.cel.cost.estimate import Estimate, Estimator, Node
from apiserver.cel.cost.ranges import MAX, ONE, Range, fixed
from apiserver.cel.cost.runtime import UNIT_COST
from apiserver.cel.syntax.ast import Literal
from apiserver.cel.types import Type

_OF_ARGUMENT = frozenset(
    {"cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"}
)
_OF_TARGET = frozenset({"lowerAscii", "upperAscii", "substring", "trim"})
_LISTS = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_UNIT_EQUALITY = frozenset(
    {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
    | {
        f"kubernetes.authorization.{n}"
        for n in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    }
)
_ADDRESS = Range(4, 16)
_MAX_FORMAT, _MAX_NAME_REGEX = 64, 128


def estimate_call(
    c: Estimator, function: str, overload: str, target: Node | None, args: list[Node]
) -> Estimate | None:
    """The cost beside that of the arguments; None leaves it to the standard rules."""
    extension = _extension(c, overload, target, args)
    if extension is not None:
        return extension
    if overload == "cidr_ip" or function in UNIT_COST:
        return Estimate(ONE)
    if function == "check":
        return Estimate(fixed(350_000))
    if function in ("fieldSelector", "labelSelector") and len(args) == 1:
        size = c.size_of_node(args[0])
        return Estimate(fixed(10).plus(size.factor(0.1)).plus(size.factor(0.5).factor(50.0)))
    if function in _LISTS and target is not None:
        return Estimate(_list_cost(c, target))
    if function in ("url", "jsonpatch.escapeKey") and len(args) == 1:
        size = c.size_of_node(args[0])
        return Estimate(size.factor(0.1), size)
    if function in _OF_ARGUMENT and args:
        return Estimate(c.size_of_node(args[0]).factor(0.1))
    if function == "ip.isCanonical" and args:
        return Estimate(c.size_of_node(args[0]).factor(0.2))
    if function in ("containsIP", "containsCIDR") and args:
        return Estimate(_contains(c, function, overload, args[0]))
    if function == "validate" and args:
        return Estimate(c.size_of_node(args[0]).factor(0.1).factor(_MAX_NAME_REGEX * 0.25))
    if function == "_==_" and len(args) == 2:
        return _equality(args[0].type, args[1])
    return _string_call(c, function, target, args) if target is not None else None


def _string_call(c: Estimator, function: str, target: Node, args: list[Node]) -> Estimate | None:
    if function in _OF_TARGET:
        size = c.size_of_node(target)
        return Estimate(size.factor(0.1), size)
    if function == "replace" and len(args) >= 2:
        size = c.size_of_node(target)
        return Estimate(
            size.factor(0.2), _replaced(size, c.size_of_node(args[0]), c.size_of_node(args[1]))
        )
    if function == "split":
        size = c.size_of_node(target)
        limit = size.max
        if len(args) > 1 and isinstance(args[1].expr, Literal) and type(args[1].expr.value) is int:
            limit = args[1].expr.value & MAX
        return Estimate(size.factor(0.2), Range(0, limit))
    if function == "join":
        return _join(c, target, args)
    if function in ("find", "findAll") and args:
        size = c.size_of_node(target)
        cost = size.plus(ONE).factor(0.1).times(c.size_of_node(args[0]).factor(0.25))
        return Estimate(cost, Range(0, size.max))
    return None


def _element(target: Node) -> Node | None:
    if not target.type.params:
        return None
    return Node(None, target.type.params[0], (*target.path, "@items") if target.path else (), None)


def _list_cost(c: Estimator, target: Node) -> Range:
    element = _element(target)
    size = c.size_of_node(target)
    if element is None:
        return size.factor(0.1)
    cost = ONE
    if element.type.kind in ("string", "bytes"):
        cost = cost.plus(c.size_of_node(element).factor(0.1))
    return size.times(cost)


def _contains(c: Estimator, function: str, overload: str, other: Node) -> Range:
    cost = _ADDRESS.plus(_ADDRESS).factor(0.1)
    if function == "containsCIDR":
        cost = cost.plus(_ADDRESS.factor(0.1)).plus(ONE)
    if overload in ("cidr_contains_ip_string", "cidr_contains_cidr_string"):
        cost = cost.plus(c.size_of_node(other).factor(0.1))
    return cost


def _equality(left: Type, right: Node) -> Estimate | None:
    if left != right.type:
        return None
    if left.name in _UNIT_EQUALITY:
        return Estimate(ONE)
    if left.name == "kubernetes.NamedFormat":
        return Estimate(Range(1, _MAX_FORMAT).factor(0.1))
    if left.name == "kubernetes.URL":
        return Estimate(Range(1, right.size.max if right.size is not None else 1).factor(0.1))
    return None


def _replaced(size: Range, old: Range, new: Range) -> Range:
    """The size after replacing: the fewest and the most replacements that the sizes allow."""
    if old.min == 0:
        most, kept_most = min(size.max + 1, MAX), size.max
    elif new.max <= old.min:
        most, kept_most = 0, size.max
    else:
        most, kept_most = ceil(float(size.max) / float(old.min)), 0
    if old.max == 0:
        fewest, kept_fewest = min(size.min + 1, MAX), size.min
    elif old.max <= new.min:
        fewest, kept_fewest = 0, size.min
    else:
        fewest, kept_fewest = ceil(float(size.min) / float(old.max)), 0
    return Range(fewest, min(most, MAX)).times(new).plus(Range(kept_fewest, kept_most))


def _join(c: Estimator, target: Node, args: list[Node]) -> Estimate:
    count = c.size_of_node(target)
    element = _element(target)
    size = count.times(c.size_of_node(element)) if element is not None else fixed(0)
    if args:
        separators = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(c.size_of_node(args[0]).times(separators))
    return Estimate(size.factor(0.1), size)


# --- cel-go's own extensions ----------------------------------------------------------------------
def _extension(
    c: Estimator, overload: str, target: Node | None, args: list[Node]
) -> Estimate | None:
    if overload.startswith("list_sets_"):
        factor = 2.0 if overload == "list_sets_equivalent_list" else 1.0
        return Estimate(
            c.size_of_node(args[0]).times(c.size_of_node(args[1])).factor(factor).plus(ONE)
        )
    if overload == "lists_range":
        return _allocating(1.0, fixed(_literal(args[0], MAX)))
    if target is None:
        return None
    if overload == "list_slice":
        size = c.size_of_node(target)
        return _allocating(1.0, fixed(_literal(args[1], size.max) - _literal(args[0], 0) & MAX))
    if overload == "list_reverse":
        return _allocating(1.0, c.size_of_node(target))
    if overload in ("list_flatten", "list_flatten_int"):
        depth = _literal(args[0], MAX) if args else 1
        return _allocating(float(depth), c.size_of_node(target))
    if overload == "list_distinct":
        size = c.size_of_node(target)
        return _allocating(2.0, size.times(size))
    if overload.startswith("list_") and overload.endswith(("_sort", "_sortByAssociatedKeys")):
        size = c.size_of_node(args[0] if overload.endswith("Keys") else target)
        return _allocating(
            2.1 if overload.startswith(("list_string_", "list_bytes_")) else 2.0, size.times(size)
        )
    return None


def _allocating(factor: float, size: Range) -> Estimate:
    cost = size.factor(factor) if factor else fixed(0)
    return Estimate(cost.plus(ONE).plus(fixed(10)), size)


def _literal(node: Node, default: int) -> int:
    if isinstance(node.expr, Literal) and type(node.expr.value) is int:
        return max(node.expr.value, 0)
    return default
