"""Whatever somebody asks of the console's pages of tokens, in whatever order, and whatever an
operator takes from her or gives back in between: no token that is good gives her more than she has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apiserver.platformroles import EDITORS, TENANT_ADMINS
from apiserver.storage.visibility import django_everywhere
from controlplane import accounts
from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import ApiToken, Tenant

EVE, OTHER_NAME, FRIEND = "grow-eve", "grow-eva", "grow-friend"
OWNED, ALIEN = "grow-owned", "grow-alien"
TENANTS = [OWNED, ALIEN, service.DEFAULT, ""]
DEV, OPS = "grow-dev", "grow-ops"
NAMES = ["", EVE, OTHER_NAME, FRIEND, "grow-nobody", "system:grow", "system:node:grow"]
VIEWING, SYSTEM = "polyplane:viewers", ["system:masters", "system:authenticated"]
GROUPS = [DEV, OPS, TENANT_ADMINS, EDITORS, VIEWING, *SYSTEM]
Step = tuple[str, Any]

made = st.fixed_dictionaries(
    {"tenant": st.sampled_from(TENANTS)},
    optional={
        "user": st.sampled_from(NAMES),
        "groups": st.lists(st.sampled_from(GROUPS), max_size=2, unique=True),
        "other": st.booleans(),
        "uid": st.just("console:1"),
    },
)
steps = st.one_of(
    st.tuples(st.just("make"), made),
    st.tuples(st.just("make"), made),
    st.tuples(st.just("revoke"), st.integers(0, 5)),
    st.tuples(
        st.sampled_from(["leave", "join"]), st.sampled_from([DEV, OPS, TENANT_ADMINS, EDITORS])
    ),
    st.tuples(st.just("rename"), st.sampled_from([EVE, OTHER_NAME])),
    st.tuples(st.just("active"), st.booleans()),
    st.tuples(st.just("owners"), st.sampled_from([[], [f"User:{EVE}"], [f"Group:{DEV}"]])),
)


class World:
    """eve, whose tenant is `OWNED` through a group; a friend with a token of her own."""

    def __init__(self) -> None:
        User.objects.filter(username__startswith="grow-").delete()
        Group.objects.filter(name__startswith="grow-").delete()
        with django_everywhere():
            ApiToken.objects.filter(user__in=NAMES).delete()
        for name in (OWNED, ALIEN, service.DEFAULT):
            service.ensure_tenant(name)
        friend = User.objects.create(username=FRIEND, is_staff=True)
        self.uid = accounts.api_uid(friend)
        self.friends = tokens.create_token(FRIEND, uid=self.uid, groups=[OPS], tenant=None).token.pk
        self.eve = User.objects.create(username=EVE, is_staff=True)
        self.join(DEV)
        self.owners([f"Group:{DEV}"])
        self.client = Client()
        self.client.force_login(self.eve)
        self.lent: set[int] = set()
        """Tokens that she made for others when she was cluster-admin where they are good."""

    # --- what she asks for ---
    def make(self, body: dict[str, Any]) -> None:
        sent = {**body, "allTenants": True} if not body["tenant"] else body
        owned = self._administered()
        status, answer = self._ask("POST", "tokens", sent)
        assert status in (200, 401, 403), answer
        if status == 200 and not self._is_own(answer["id"]):
            assert answer["tenant"] in owned, "others' tokens are for their tenant's owner"
            self.lent.add(answer["id"])

    def revoke(self, at: int) -> None:
        with django_everywhere():
            rows = list(ApiToken.objects.filter(user__in=NAMES).order_by("pk"))
        if at < len(rows):
            self._ask("DELETE", f"tokens/{rows[at].pk}")

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        data = b"" if body is None else json.dumps(body)
        path = f"/admin/console/facts/{path}"
        answer = self.client.generic(method, path, data, "application/json", secure=True)
        return answer.status_code, answer.json()

    # --- what an operator does ---
    def join(self, group: str) -> None:
        self.eve.groups.add(Group.objects.get_or_create(name=group)[0])

    def leave(self, group: str) -> None:
        self.eve.groups.remove(*Group.objects.filter(name=group))

    def rename(self, name: str) -> None:
        self.eve.username = name
        self.eve.save()

    def active(self, is_active: bool) -> None:
        self.eve.is_active = is_active
        self.eve.save()

    def owners(self, owners: list[str]) -> None:
        Tenant.objects.filter(name=OWNED).update(owners=owners, bound_owners=owners)

    # --- what must hold ---
    def _administered(self) -> set[str]:
        groups = set(self.eve.groups.values_list("name", flat=True))
        if TENANT_ADMINS in groups:
            return {OWNED, ALIEN}
        hers = {f"User:{self.eve.username}", *(f"Group:{group}" for group in groups)}
        return {OWNED} if hers & set(Tenant.objects.get(name=OWNED).owners) else set()

    def _is_own(self, number: int) -> bool:
        with django_everywhere():
            return ApiToken.objects.get(pk=number).uid == accounts.api_uid(self.eve)

    def check(self) -> None:
        with django_everywhere():
            good = list(ApiToken.objects.filter(user__in=NAMES, revoked_at=None))
        assert self.friends in {token.pk for token in good}, "it is not hers to revoke"
        for token in good:
            if token.pk == self.friends:
                continue
            said = (token.user, token.groups, token.uid)
            if token.pk in self.lent:
                assert token.uid == "" and token.tenant_id is not None, said
                assert not any(n.startswith("system:") for n in (token.user, *token.groups)), said
            else:
                assert token.uid == accounts.api_uid(self.eve) and self.eve.is_active, said
                assert token.user == self.eve.username, said
                assert set(token.groups) <= set(accounts.api_groups(self.eve)), said


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(played=st.lists(steps, min_size=3, max_size=10))
@example(played=[("make", {"tenant": ""}), ("leave", DEV)])
@example(played=[("make", {"tenant": ""}), ("rename", OTHER_NAME), ("rename", EVE)])
@example(played=[("make", {"tenant": OWNED}), ("active", False), ("active", True)])
@example(played=[("make", {"tenant": OWNED, "user": FRIEND}), ("owners", []), ("revoke", 0)])
@example(played=[("join", TENANT_ADMINS), ("make", {"tenant": "default", "user": FRIEND})])
def test_no_token_gives_more_than_its_maker_has(postgres: str, played: list[Step]) -> None:
    world = World()
    for name, argument in played:
        step: Callable[[Any], None] = getattr(world, name)
        step(argument)
        world.check()


@pytest.mark.parametrize("back", [False, True])
def test_a_token_ends_with_the_name_that_it_stands_for(postgres: str, back: bool) -> None:
    """Whoever may choose a name at a provider would keep one that is somebody else's later."""
    world = World()
    world.make({"tenant": ""})
    world.make({"tenant": OWNED, "user": "grow-nobody"})
    world.rename(OTHER_NAME)
    if back:
        world.rename(EVE)
    with django_everywhere():
        good = ApiToken.objects.filter(user__in=NAMES, revoked_at=None)
        assert {token.user for token in good} == {FRIEND, "grow-nobody"}
