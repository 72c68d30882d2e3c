"""search.polyplane.dev/v1: an ObjectSearch finds objects of all kinds by what is in them, an
ObjectCount says how many there are (apiserver.search).

Everybody who is known may ask both (apiserver.authorizers.chain), for the answers hold nothing but
what lists would show. Several tenants can be searched in tenant default, by those whose token or
role is good in all: in each of them they are answered by its own rules.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from apiserver.authz.attributes import Attributes, Decision
from apiserver.endpoints.views.reviews import ReviewView
from apiserver.errors import Forbidden
from apiserver.meta.objects import Object
from apiserver.platformroles import LOOKING
from apiserver.registry.scope import Tenant
from apiserver.request import DEFAULT_TENANT
from apiserver.search.counting import Counting, asked
from apiserver.search.question import EVERY, Question, parse
from apiserver.search.searching import Searching

_TENANTS_AT_ONCE = 100


class ObjectSearchView(ReviewView):
    async def _answer(self, review: Object) -> Object:
        question = parse(review)
        searching = Searching(
            self.registry,
            self.scope,
            question,
            self._authorize_in,
            self._enter,
            self.server.catalog.fresh,
        )
        if not question.tenants:
            return {**review, "status": await searching.within(self.scope.tenant)}
        self._check_wide()
        if not question.token:  # the first page says it
            searching.why |= dict.fromkeys(await self._lacking(question))

        def tenants(begin: str) -> AsyncIterator[Tenant]:
            return self._tenants(question, begin)

        return {**review, "status": await searching.across(tenants)}

    def _check_wide(self) -> None:
        """Raises Forbidden."""
        user = self.scope.user
        if self.scope.tenant.name != DEFAULT_TENANT:
            why = f"other tenants are searched through tenant {DEFAULT_TENANT}"
        elif user.everywhere or LOOKING in user.platform:
            return
        else:
            why = "other tenants are searched with a token or a role that is good in all of them"
        raise Forbidden(self.scope.resource.group_resource, "", why)

    async def _lacking(self, question: Question) -> list[str]:
        """Why nothing is found in tenants that were named. Whoever gets here may enter all that
        there are, and so is told which there are not."""
        if EVERY in question.tenants:
            return []
        infos = await self.server.directory.active(question.tenants, "", len(question.tenants))
        there = {info.name for info in infos}
        return [
            f'there is no tenant "{name}" that serves requests'
            for name in dict.fromkeys(question.tenants)
            if name not in there
        ]

    async def _tenants(self, question: Question, begin: str) -> AsyncIterator[Tenant]:
        """Those that serve requests, by name."""
        named = () if EVERY in question.tenants else question.tenants
        while True:
            infos = await self.server.directory.active(named, begin, _TENANTS_AT_ONCE)
            for info in infos:
                yield Tenant(info.id, info.name)
            if len(infos) < _TENANTS_AT_ONCE:
                return
            begin = f"{infos[-1].name}\x01"

    async def _authorize_in(self, tenant: Tenant, attributes: Attributes) -> Decision:
        return await self.server.authorizer.authorize(tenant, attributes)

    async def _enter(self, tenant: Tenant) -> None:
        await self.server.seeder.ensure(tenant)
        await self.server.catalog.ready(tenant)


class ObjectCountView(ReviewView):
    async def _answer(self, review: Object) -> Object:
        wanted = asked(review)
        counting = Counting(self.registry, self.scope, self._authorize, self.server.catalog.fresh)
        return {**review, "status": await counting.status(wanted)}
