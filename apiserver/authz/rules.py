"""Policy rules of RBAC: what one rule allows, its parts, and how a rule reads in a message.

A rule is the JSON of rbac.authorization.k8s.io/v1 PolicyRule. Sources: k8s.io/component-helpers
``auth/rbac/validation`` (parts) and kubernetes ``pkg/apis/rbac/v1`` helpers (matching,
CompactString) and ``pkg/registry/rbac/validation`` (compaction).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from apiserver.authz.attributes import Attributes
from apiserver.golang.strconv import go_quote

Rule = dict[str, Any]

ALL = "*"


def values(rule: Rule, member: str) -> list[str]:
    return rule.get(member) or []


def rule_allows(rule: Rule, attributes: Attributes) -> bool:
    """Whether this rule answers the question with yes."""
    verbs = values(rule, "verbs")
    if ALL not in verbs and attributes.verb not in verbs:
        return False
    if not attributes.is_resource:
        return any(_url_covers(url, attributes.path) for url in values(rule, "nonResourceURLs"))
    groups = values(rule, "apiGroups")
    if ALL not in groups and attributes.group not in groups:
        return False
    resources = values(rule, "resources")
    if (
        ALL not in resources
        and attributes.full_resource not in resources
        and not (attributes.subresource and f"*/{attributes.subresource}" in resources)
    ):
        return False
    names = values(rule, "resourceNames")
    return not names or attributes.name in names


def lacking(rule: Rule, attributes: Attributes) -> tuple[str, ...]:
    """What this rule does not cover of the question, by its members; empty where it allows it. One
    of the other sort, about URLs or resources, lacks everything."""
    asked = [("verbs", attributes.verb in values(rule, "verbs") or ALL in values(rule, "verbs"))]
    if attributes.is_resource:
        groups, resources = values(rule, "apiGroups"), values(rule, "resources")
        names, full = values(rule, "resourceNames"), attributes.full_resource
        anywhere = attributes.subresource and f"*/{attributes.subresource}" in resources
        asked += [
            ("apiGroups", ALL in groups or attributes.group in groups),
            ("resources", ALL in resources or full in resources or bool(anywhere)),
            ("resourceNames", not names or attributes.name in names),
        ]
    else:
        urls = values(rule, "nonResourceURLs")
        asked.append(("nonResourceURLs", any(_url_covers(u, attributes.path) for u in urls)))
    return tuple(member for member, covered in asked if not covered)


def _url_covers(owner: str, url: str) -> bool:
    return owner in (ALL, url) or (owner.endswith(ALL) and url.startswith(owner.rstrip(ALL)))


def length(rule: Rule) -> int:
    """Of the rule as JSON, in characters, about."""
    return 32 + sum(4 + len(text) for texts in rule.values() for text in texts or ())


def break_down(rule: Rule) -> Iterator[Rule]:
    """The rule as rules of one group, resource, verb and name each, or of one URL and verb each."""
    verbs = values(rule, "verbs")
    for group, resource, verb, name in product(
        values(rule, "apiGroups"),
        values(rule, "resources"),
        verbs,
        values(rule, "resourceNames") or (None,),
    ):
        plain: Rule = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        yield plain if name is None else {**plain, "resourceNames": [name]}
    for url, verb in product(values(rule, "nonResourceURLs"), verbs):
        yield {"nonResourceURLs": [url], "verbs": [verb]}


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Rules of one group and resource (and at most one name) merged by their verbs; all others as
    they are."""
    out: list[Rule] = []
    simple: dict[tuple[str, str, str | None], Rule] = {}
    for rule in rules:
        groups, resources, names = (
            values(rule, "apiGroups"),
            values(rule, "resources"),
            values(rule, "resourceNames"),
        )
        if (
            len(names) > 1
            or values(rule, "nonResourceURLs")
            or len(groups) != 1
            or len(resources) != 1
        ):
            out.append(rule)
            continue
        key = (groups[0], resources[0], names[0] if names else None)
        if key in simple:
            simple[key]["verbs"] += values(rule, "verbs")
        else:
            simple[key] = {**rule, "verbs": [*values(rule, "verbs")]}
    return out + list(simple.values())


def go_list(items: Iterable[str]) -> str:
    """Go's %q of a []string."""
    return f"[{' '.join(go_quote(item) for item in items)}]"


_MEMBERS = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def compact_string(rule: Rule) -> str:
    """``{APIGroups:["apps"], Resources:["*"], Verbs:["get" "list"]}``."""
    return (
        "{"
        + ", ".join(
            f"{label}:{go_list(values(rule, member))}"
            for label, member in _MEMBERS
            if values(rule, member)
        )
        + "}"
    )
