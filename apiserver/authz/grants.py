"""Who may do something, and what somebody may do: the rules of RBAC by binding and subject.

Rules are found by going through bindings, so the answer knows nothing of what other authorizers
allow. It holds nothing but what whoever asks could read by lists of bindings and by getting roles:
`May` is asked about each place, and what is not to be seen is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from apiserver.authz import explain
from apiserver.authz.attributes import Attributes, Grant
from apiserver.authz.bindings import Identity, subject_of
from apiserver.authz.rbac import note, role_rules
from apiserver.authz.rules import Rule, compact_string, rule_allows
from apiserver.meta.objects import Object

MOST = 500
"""Grants in one answer."""
MOST_TEXT = 1_000_000
"""Characters of the rules in one answer."""
MOST_LOOKS = 50_000
"""Bindings, subjects and rules that one answer looks at."""
_AT_ONCE = 200
"""Of them before others may use the loop."""


class Reader(explain.Reader, Protocol):
    async def cluster_role_bindings(self) -> Sequence[Object]: ...


May = Callable[[str, str, str, str], Awaitable[bool]]
"""Whether whoever asks may do something to RBAC objects: verb, resource, namespace, name."""


class Asked(NamedTuple):
    """identity: whose rules, None for those of everybody; question: what they must allow, None for
    all rules. The question's own user does not matter."""

    identity: Identity | None
    question: Attributes | None


@dataclass(slots=True)
class Granted:
    """unresolved: roles that could not be found; hidden: resources of RBAC of which whoever asks
    may not see all that matters; complete: whether all the rest was looked at; others: who allows
    more, and cannot say to whom."""

    grants: list[Grant] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    others: Sequence[str] = ()
    complete: bool = True


class _Full(Exception):
    """No more is looked at."""


async def find(asked: Asked, reader: Reader, may: May) -> Granted:
    """By binding: those of the whole tenant first, then namespace by namespace. Where something is
    asked about, the first rule of a role that allows it stands for the others."""
    search = _Search(asked, reader, may)
    try:
        async for namespace, binding in search.bindings():
            await search.look(binding, namespace)
    except _Full:
        search.found.complete = False
    return search.found


class _Search:
    def __init__(self, asked: Asked, reader: Reader, may: May) -> None:
        self.found = Granted()
        self._asked, self._reader, self._may = asked, reader, may
        self._allowed: dict[tuple[str, str, str, str], bool] = {}
        self._looks = self._text = 0

    async def bindings(self) -> AsyncIterator[tuple[str, Object]]:
        """(namespace, binding) of all that may be seen and that could matter."""
        if await self._sees("list", "clusterrolebindings"):
            for binding in await self._reader.cluster_role_bindings():
                yield "", binding
        question = self._asked.question
        if question is not None and not (question.is_resource and question.namespace):
            return  # what is in no namespace, bindings of namespaces do not allow
        only = question.namespace if question is not None else ""
        if not await self._may_see("list", "rolebindings", only):
            self.found.hidden.add("rolebindings")
        for binding in await self._reader.role_bindings():
            await self._step()
            namespace = binding["metadata"].get("namespace", "")
            if only in ("", namespace) and await self._may_see("list", "rolebindings", namespace):
                yield namespace, binding

    async def look(self, binding: Object, namespace: str) -> None:
        subjects = await self._subjects(binding, namespace)
        if not subjects:
            return
        role = binding["roleRef"]
        resource = "roles" if role.get("kind") == "Role" else "clusterroles"
        within = namespace if resource == "roles" else ""
        if not await self._sees("get", resource, within, role.get("name", "")):
            return
        rules, error = await role_rules(role, namespace, self._reader)
        if error:
            note(self.found.unresolved, error)
        for at, rule in enumerate(rules):
            await self._step()
            question = self._asked.question
            if question is None or rule_allows(rule, question):
                for subject in subjects:
                    self._add(Grant(binding, subject, namespace, rule, at))
                if question is not None:
                    return

    async def _subjects(self, binding: Object, namespace: str) -> Sequence[Object]:
        """Of the binding: all, or the one that is meant."""
        await self._step(1 + len(binding.get("subjects") or ()))
        if self._asked.identity is None:
            return binding.get("subjects") or ()
        subject = subject_of(self._asked.identity, binding, namespace)
        return [] if subject is None else [subject]

    def _add(self, grant: Grant) -> None:
        rule: Rule = explain.shortened(grant.rule)[0]
        self._text += len(compact_string(rule))
        if len(self.found.grants) == MOST or self._text > MOST_TEXT:
            raise _Full
        self.found.grants.append(grant)

    async def _step(self, looks: int = 1) -> None:
        before, self._looks = self._looks, self._looks + looks
        if self._looks > MOST_LOOKS:
            raise _Full
        if before // _AT_ONCE != self._looks // _AT_ONCE:
            await asyncio.sleep(0)

    # --- what may be seen -------------------------------------------------------------------------
    async def _sees(self, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
        """As `_may_see`; that something is hidden is told."""
        allowed = await self._may_see(verb, resource, namespace, name)
        if not allowed:
            self.found.hidden.add(resource)
        return allowed

    async def _may_see(self, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
        """Asked once about each; who may everywhere may in each namespace."""
        key = verb, resource, namespace, name
        if key not in self._allowed:
            everywhere = bool(namespace) and await self._may_see(verb, resource)
            self._allowed[key] = everywhere or await self._may(*key)
        return self._allowed[key]
