"""Where a pod may run: node selectors and affinity, pod affinity, spread constraints, tolerations,
taints, gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from apiserver.fielderrors import FieldPath, duplicate, forbidden, invalid, not_supported, required
from apiserver.kinds.common import checks
from apiserver.kinds.common.internal import quote
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject
from apiserver.schema.labelselector import validate_label_selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TOLERATION_OPERATORS = ("Equal", "Exists")
_BAD_OPERATOR = "not a valid selector operator"
_WEIGHT = "must be in the range 1-100"


def affinity(value: ReadOnlyObject | None, path: FieldPath) -> checks.Errors:
    if value is None:
        return
    node = value.get("nodeAffinity")
    if node is not None:
        if node.get(REQUIRED) is not None:
            yield from node_selector(node[REQUIRED], path.child("nodeAffinity", REQUIRED))
        for i, term in enumerate(node.get(PREFERRED) or ()):
            at = path.child("nodeAffinity", PREFERRED).at(i)
            yield from _weight(term, at)
            yield from node_selector_term(
                term.get("preference") or {}, at.child("preference"), check_values=False
            )
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = value.get(kind) or {}
        for i, term in enumerate(pods.get(REQUIRED) or ()):
            yield from _pod_term(term, path.child(kind, REQUIRED).at(i))
        for i, weighted in enumerate(pods.get(PREFERRED) or ()):
            at = path.child(kind, PREFERRED).at(i)
            yield from _weight(weighted, at)
            yield from _pod_term(weighted.get("podAffinityTerm") or {}, at.child("podAffinityTerm"))


def _weight(term: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not 1 <= term.get("weight", 0) <= 100:
        yield invalid(path.child("weight"), term.get("weight", 0), _WEIGHT)


def node_selector(selector: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(path.child("nodeSelectorTerms"), "must have at least one node selector term")
    for i, term in enumerate(terms):
        yield from node_selector_term(term, path.child("nodeSelectorTerms").at(i))


def node_selector_term(
    term: ReadOnlyObject, path: FieldPath, *, check_values: bool = True
) -> checks.Errors:
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _node_requirement(
            requirement, path.child("matchExpressions").at(i), check_values
        )
    for i, requirement in enumerate(term.get("matchFields") or ()):
        yield from _node_field(requirement, path.child("matchFields").at(i))


def _node_requirement(
    requirement: ReadOnlyObject, path: FieldPath, check_values: bool
) -> checks.Errors:
    values = requirement.get("values") or ()
    match requirement.get("operator", ""):
        case "In" | "NotIn":
            if not values:
                yield required(
                    path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"
                )
        case "Exists" | "DoesNotExist":
            if values:
                yield forbidden(
                    path.child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required(
                    path.child("values"),
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                )
        case operator:
            yield invalid(path.child("operator"), operator, _BAD_OPERATOR)
    yield from checks.qualified_name(requirement.get("key", ""), path.child("key"))
    if check_values:
        for i, value in enumerate(values):
            yield from checks.label_value(value, path.child("values").at(i))


def _node_field(requirement: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    values = requirement.get("values") or ()
    operator, key = requirement.get("operator", ""), requirement.get("key", "")
    if operator not in ("In", "NotIn"):
        yield invalid(path.child("operator"), operator, _BAD_OPERATOR)
    elif len(values) != 1:
        yield required(
            path.child("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if key != "metadata.name":
        yield invalid(path.child("key"), key, "not a valid field selector key")
        return
    for i, value in enumerate(values):
        yield from checks.dns_subdomain(value, path.child("values").at(i))


def _pod_term(term: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    selector = term.get("labelSelector")
    yield from validate_label_selector(selector, path.child("labelSelector"))
    yield from validate_label_selector(
        term.get("namespaceSelector"), path.child("namespaceSelector")
    )
    for namespace in term.get("namespaces") or ():
        yield from checks.dns_label(namespace, path.child("namespace"))
    yield from _label_keys(
        term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or (), selector, path
    )
    if not term.get("topologyKey"):
        yield required(path.child("topologyKey"), "can not be empty")
    yield from checks.qualified_name(term.get("topologyKey", ""), path.child("topologyKey"))


def _label_keys(
    match_keys: Sequence[str],
    mismatch_keys: Sequence[str],
    selector: ReadOnlyObject | None,
    path: FieldPath,
) -> checks.Errors:
    """matchLabelKeys and mismatchLabelKeys of an affinity term, the former of a spread constraint.
    ``path``: of the term or the constraint."""
    for field, keys in (("matchLabelKeys", match_keys), ("mismatchLabelKeys", mismatch_keys)):
        if keys and selector is None:
            yield forbidden(
                path.child(field), "must not be specified when labelSelector is not set"
            )
            continue
        for i, key in enumerate(keys):
            yield from checks.qualified_name(key, path.child(field).at(i))
    yield from _merged_keys(match_keys, selector, path)
    mismatched = frozenset(mismatch_keys)
    for i, key in enumerate(match_keys):
        if key in mismatched:
            yield invalid(
                path.child("matchLabelKeys").at(i),
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            )


def _merged_keys(
    keys: Sequence[str], selector: ReadOnlyObject | None, path: FieldPath
) -> checks.Errors:
    """The server has already merged one requirement for each key: a second one was written by the
    client."""
    if selector is None:
        return
    seen = set(selector.get("matchLabels") or ())
    places = {key: i for i, key in enumerate(keys)}
    for requirement in selector.get("matchExpressions") or ():
        key = requirement.get("key", "")
        if key in places and key in seen:
            yield invalid(
                path.at(places[key]), key, "exists in both matchLabelKeys and labelSelector"
            )
        seen.add(key)


def spread_constraints(constraints: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    following = Counter(
        (c.get("topologyKey", ""), c.get("whenUnsatisfiable", "")) for c in constraints
    )
    for i, constraint in enumerate(constraints):
        at = path.at(i)
        skew, topology, action = (
            constraint.get("maxSkew", 0),
            constraint.get("topologyKey", ""),
            constraint.get("whenUnsatisfiable", ""),
        )
        yield from checks.positive(skew, at.child("maxSkew"))
        if not topology:
            yield required(at.child("topologyKey"), "can not be empty")
        yield from checks.one_of(
            action, at.child("whenUnsatisfiable"), ("DoNotSchedule", "ScheduleAnyway"), empty=True
        )
        following[topology, action] -= 1
        if following[topology, action]:
            yield duplicate(
                at.child("{topologyKey, whenUnsatisfiable}"), f"{{{topology}, {action}}}"
            )
        yield from _min_domains(constraint.get("minDomains"), action, at.child("minDomains"))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from checks.optional_one_of(
                constraint.get(field), at.child(field), ("Honor", "Ignore")
            )
        yield from _label_keys(
            constraint.get("matchLabelKeys") or (), (), constraint.get("labelSelector"), at
        )
        yield from validate_label_selector(
            constraint.get("labelSelector"), at.child("labelSelector")
        )


def _min_domains(value: int | None, action: str, path: FieldPath) -> checks.Errors:
    if value is None:
        return
    yield from checks.positive(value, path)
    if action != "DoNotSchedule":
        yield invalid(
            path, value, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        )


def tolerations(values: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    for i, toleration in enumerate(values):
        at = path.at(i)
        key, operator, effect = (toleration.get(f) or "" for f in ("key", "operator", "effect"))
        if key:
            yield from checks.qualified_name(key, at.child("key"))
        if not key and operator != "Exists":
            why = (
                'operator must be Exists when `key` is empty, which means "match all '
                'values and all keys"'
            )
            yield invalid(at.child("operator"), operator, why)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(
                at.child("effect"),
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        yield from _toleration_value(operator, toleration.get("value") or "", at.child("operator"))
        if effect:
            yield from checks.one_of(effect, at.child("effect"), EFFECTS)


def _toleration_value(operator: str, value: str, path: FieldPath) -> checks.Errors:
    if operator in ("", "Equal"):
        wrong = names.label_value(value)
        if wrong:
            yield invalid(path, value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            yield invalid(path, value, "value must be empty when `operator` is 'Exists'")
    else:
        # Lt and Gt come with the feature TaintTolerationComparisonOperators, which is off.
        compares = ("Lt", "Gt") if operator in ("Lt", "Gt") else ()
        yield not_supported(path, operator, [*TOLERATION_OPERATORS, *compares])


def taints(values: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    """Of a node; unique by key and effect."""
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(values):
        key, value, effect = (taint.get(f) or "" for f in ("key", "value", "effect"))
        at = path.at(i)
        yield from checks.qualified_name(key, at.child("key"))
        wrong = names.label_value(value)
        if wrong:
            yield invalid(at.child("value"), value, ";".join(wrong))
        yield from checks.one_of(effect, at.child("effect"), EFFECTS)
        if (key, effect) in seen:
            error = duplicate(
                at,
                quote("core.v1.Taint", taint),
            )
            error.detail = "taints must be unique by key and effect pair"
            yield error
        seen.add((key, effect))


def gates(values: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    seen: set[str] = set()
    for i, gate in enumerate(values):
        name = gate.get("name", "")
        yield from checks.qualified_name(name, path.at(i))
        if name in seen:
            yield duplicate(path.at(i), name)
        seen.add(name)
