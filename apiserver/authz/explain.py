"""Why something is allowed or refused: the rule and the binding that decided, or what comes nearest
to an answer of yes.

It reads what `apiserver.authz.rbac` reads, in the same order, and more only for a refusal: what the
user holds in other namespaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from apiserver.authz import rbac
from apiserver.authz.attributes import Attributes, Decision, Grant
from apiserver.authz.bindings import Identity, bound
from apiserver.authz.rbac import note, role_rules, sources
from apiserver.authz.rules import Rule, compact_string, lacking, values
from apiserver.meta.objects import Object

MOST_MISSES = 10
MOST_LOOKS = 50_000
"""Rules and bindings that one explanation looks at."""
_AT_ONCE = 200
"""Of them before others may use the loop."""
_SHOWN = 20
_FAR = 3
"""A rule that lacks so much is no near miss."""


def rule_text(grant: Grant) -> str:
    """The rule in short, as audit entries have it: its place in the role, and what it says. Of a
    member with very many values the first are told."""
    return f"{grant.at}: {compact_string(shortened(grant.rule)[0])}"


def shortened(rule: Rule) -> tuple[Rule, bool]:
    """The rule with the first values of each member, and whether it has more."""
    if all(len(texts) <= _SHOWN for texts in rule.values() if texts):
        return rule, False
    return {member: texts and texts[:_SHOWN] for member, texts in rule.items()}, True


class Reader(rbac.Reader, Protocol):
    async def role_bindings(self) -> Sequence[Object]:
        """Of all namespaces."""


class Miss(NamedTuple):
    """A rule that the user holds, and what it would have to have, by members of rules, and
    ``namespace`` where it holds in another one."""

    grant: Grant
    lacking: tuple[str, ...]


class Explanation(NamedTuple):
    """decision: with the grant, if RBAC has allowed it. misses: of a refusal, the nearest first.
    unresolved: roles that could not be found. complete: whether all was looked at that the user
    holds."""

    decision: Decision
    misses: list[Miss]
    unresolved: list[str]
    complete: bool = True


async def explain(attributes: Attributes, decision: Decision, reader: Reader | None) -> Explanation:
    """``decision``: on the question; reader: None where RBAC is not asked."""
    explanation = Explanation(decision, [], [])
    if decision.allowed or decision.denied or reader is None:
        return explanation
    looks = 0
    async for candidate in _candidates(attributes, reader, explanation.unresolved):
        looks += 1
        if looks == MOST_LOOKS:
            return explanation._replace(complete=False)
        if not looks % _AT_ONCE:
            await asyncio.sleep(0)
        if candidate is not None and len(candidate.lacking) < _FAR:
            _keep(explanation.misses, candidate)
    return explanation


def _keep(misses: list[Miss], miss: Miss) -> None:
    """In their order among those that lack as much."""
    misses.append(miss)
    misses.sort(key=lambda m: len(m.lacking))
    del misses[MOST_MISSES:]


async def _candidates(
    attributes: Attributes, reader: Reader, unresolved: list[str]
) -> AsyncIterator[Miss | None]:
    """Rules that the user holds anywhere; None for what was looked at and is none."""
    namespace = attributes.namespace if attributes.is_resource else ""
    sort = "resources" if attributes.is_resource else "nonResourceURLs"
    async for source in sources(attributes.user, namespace, reader):
        yield None
        if source.error:
            note(unresolved, source.error)
        for index, rule in enumerate(source.rules):
            if values(rule, sort):
                grant = Grant(*source.bound, source.namespace, rule, index)
                yield Miss(grant, lacking(rule, attributes))
    if not attributes.is_resource:
        return
    identity = Identity.of(attributes.user)
    for binding in await reader.role_bindings():
        yield None
        elsewhere = binding["metadata"].get("namespace", "")
        if elsewhere == namespace:
            continue
        for one in bound([binding], identity, elsewhere):
            rules = await role_rules(binding["roleRef"], elsewhere, reader)
            for index, rule in enumerate(rules.rules):
                if values(rule, sort):
                    grant = Grant(*one, elsewhere, rule, index)
                    yield Miss(grant, ("namespace", *lacking(rule, attributes)))
