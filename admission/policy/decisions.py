"""What expressions ask the authorizer.

An evaluation cannot wait, and RBAC reads watch caches, which may have to be loaded. So an
evaluation that asks something new is broken off, and begun again once the answer is there. A
question costs 350,000 units, so that an evaluation asks two at most before its own limit ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from admission.attributes import Attributes, Authorize, Lookup
from admission.rules import namespace_of
from apiserver.authz import attributes as authz
from apiserver.cel.library.authorizer import (
    Authorizer,
    Decision,
    Question,
    ResourceCheck,
    request_resource,
)
from apiserver.meta.fields import FieldSelectorError, parse_field_selector
from apiserver.meta.labels import LabelSelectorError, parse_label_selector
from apiserver.user import User, service_account_groups, service_account_name

T = TypeVar("T")


class _Unanswered(Exception):
    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Decisions:
    """Of one request: each question is put once."""

    def __init__(self, authorize: Authorize, attributes: Attributes, lookup: Lookup) -> None:
        self._authorize, self._lookup, self._user = authorize, lookup, attributes.user
        self._decisions: dict[Question, Decision] = {}
        self.authorizer = Authorizer(self._answer)
        resource = attributes.resource
        self.request_resource: ResourceCheck = request_resource(
            self.authorizer,
            resource.group,
            resource.resource,
            attributes.subresource,
            namespace_of(attributes),
            attributes.name,
        )

    async def run(self, work: Callable[[], T]) -> T:
        """`Lookup.run`, again until no question is open."""
        while True:
            try:
                return await self._lookup.run(work)
            except _Unanswered as error:
                await self._decide(error.question)

    def _answer(self, question: Question) -> Decision:
        decision = self._decisions.get(question)
        if decision is None:
            raise _Unanswered(question)
        return decision

    async def _decide(self, question: Question) -> None:
        asked = authz.Attributes(
            _account(*question.service_account) if question.service_account else self._user,
            question.verb,
            group=question.group,
            version="*" if question.resource else "",
            resource=question.resource,
            subresource=question.subresource,
            namespace=question.namespace,
            name=question.name,
            path=question.path,
            is_resource=bool(question.resource),
        )
        decision = await self._authorize(self._lookup, _limited(asked, question))
        self._decisions[question] = Decision(decision.allowed, decision.reason, decision.error)


def _limited(asked: authz.Attributes, question: Question) -> authz.Attributes:
    """With the selectors; what cannot be read does not limit the question."""
    if question.field_selector:
        with suppress(FieldSelectorError):
            fields = parse_field_selector(question.field_selector).requirements
            asked = asked._replace(field_requirements=fields)
    if question.label_selector:
        with suppress(LabelSelectorError):
            labels = parse_label_selector(question.label_selector).requirements
            asked = asked._replace(label_requirements=labels)
    return asked


def _account(namespace: str, name: str) -> User:
    return User(service_account_name(namespace, name), groups=service_account_groups(namespace))
