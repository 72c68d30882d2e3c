"""Which account a person of an OpenID provider gets, and what it may do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import Group, User
from django.db import connections

from controlplane.console.models import OidcIdentity
from controlplane.console.oidcaccounts import NotAdmitted, admit
from controlplane.console.oidcsettings import OidcSettings
from controlplane.console.relyingparty import Person
from tests.support.consolelogins import ROLES, settings_for

ISSUER = "https://idp.example.com"
NO_ROLE = "no group of yours has a role in this console"


@pytest.fixture(autouse=True)
def nobody(postgres: str) -> Iterator[None]:
    User.objects.all().delete()
    yield
    User.objects.all().delete()
    Group.objects.exclude(name__startswith="polyplane:").delete()


def settings(**more: object) -> OidcSettings:
    roles = {**ROLES, "crew": frozenset({"polyplane:viewers", "crew"})}
    return settings_for(ISSUER, roles=roles, **more)


def person(name: str = "ann", *groups: str, subject: str = "s-1", issuer: str = ISSUER) -> Person:
    return Person(issuer, subject, name, frozenset(groups or ("viewers",)))


def state(account: User) -> tuple[str, bool, bool, list[str]]:
    account = User.objects.get(pk=account.pk)
    names = sorted(account.groups.values_list("name", flat=True))
    return account.username, account.is_staff, account.is_superuser, names


VIEWER = ["polyplane:viewers"]


@pytest.mark.parametrize(
    ("groups", "staff", "root", "held"),
    [
        (("viewers",), True, False, VIEWER),
        (("viewers", "viewers-2"), True, False, VIEWER),
        (("root",), True, True, []),
        (("root", "viewers"), True, True, VIEWER),
        (("crew",), True, False, ["crew", *VIEWER]),
    ],
)
def test_groups_of_the_provider_are_roles_as_the_settings_say(
    groups: tuple[str, ...], staff: bool, root: bool, held: list[str]
) -> None:
    assert state(admit(person("ann", *groups), settings())) == ("ann", staff, root, held)


@pytest.mark.parametrize(
    "group", ["others", "superuser", "polyplane:viewers", "Viewers", "viewers ", "system:masters"]
)
def test_what_the_settings_do_not_name_gives_nothing(group: str) -> None:
    with pytest.raises(NotAdmitted, match=NO_ROLE):
        admit(person("ann", group), settings())
    assert not User.objects.exists() and not OidcIdentity.objects.exists()


def test_roles_follow_the_provider_at_each_login() -> None:
    account = admit(person("ann", "root", "crew"), settings())
    assert admit(person("ann", "viewers"), settings()).pk == account.pk
    assert state(account) == ("ann", True, False, VIEWER)
    with pytest.raises(NotAdmitted, match=NO_ROLE):
        admit(person("ann", "others"), settings())
    assert state(account) == ("ann", False, False, []), "an open session is of no use any more"
    assert state(admit(person("ann", "root"), settings())) == ("ann", True, True, [])


def test_what_an_operator_gave_beside_the_settings_stays() -> None:
    account = admit(person("ann", "crew"), settings())
    account.groups.add(Group.objects.get(name="polyplane:tenant-admins"))
    admit(person("ann", "others"), settings())
    assert state(account) == ("ann", True, False, ["polyplane:tenant-admins"])


def test_without_superusers_in_the_settings_the_provider_makes_and_unmakes_none() -> None:
    only = settings_for(ISSUER, roles={"viewers": ROLES["viewers"]})
    account = admit(person("ann"), only)
    User.objects.filter(pk=account.pk).update(is_superuser=True)
    assert state(admit(person("ann"), only))[2] is True
    assert state(admit(person("ann"), settings()))[2] is False


def test_a_closed_account_stays_closed() -> None:
    User.objects.filter(pk=admit(person(), settings()).pk).update(is_active=False)
    with pytest.raises(NotAdmitted, match="your account is closed"):
        admit(person(), settings())


@pytest.mark.parametrize("name", ["taken", "TAKEN"])
def test_nobody_gets_the_account_of_another_by_its_name(name: str) -> None:
    User.objects.create_superuser("taken", password="right horse battery staple")
    with pytest.raises(NotAdmitted, match="another account has your name"):
        admit(person(name, "root"), settings())
    assert User.objects.count() == 1 and not OidcIdentity.objects.exists()


def test_the_same_name_at_another_provider_or_of_another_subject_is_another_person() -> None:
    admit(person("ann"), settings())
    for other in (person("ann", subject="s-2"), person("ann", issuer="https://other.example.com")):
        with pytest.raises(NotAdmitted, match="another account has your name"):
            admit(other, settings())


def test_an_account_follows_the_name_but_never_onto_anothers() -> None:
    account = admit(person("ann"), settings())
    assert admit(person("ann.new"), settings()).pk == account.pk
    assert state(account)[0] == "ann.new"
    User.objects.create_user("taken")
    with pytest.raises(NotAdmitted, match="another account has your name"):
        admit(person("taken", "crew"), settings())
    assert state(account) == ("ann.new", True, False, ["crew", *VIEWER])


@pytest.mark.parametrize(
    "name", ["system:admin", "a b", "", "a" * 151, "\uff41nn", "a\u0301x/", "x\n", "<b>"]
)
def test_a_name_that_no_account_can_have_is_refused(name: str) -> None:
    with pytest.raises(NotAdmitted, match="none that an account can have"):
        admit(person(name), settings())
    assert not User.objects.exists()


def test_first_logins_of_one_person_at_the_same_moment_make_one_account() -> None:
    def come(_: int) -> int:
        try:
            return admit(person(), settings()).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(come, range(12)))) == 1
    assert User.objects.count() == OidcIdentity.objects.count() == 1


def test_an_account_that_is_deleted_is_made_anew() -> None:
    first = admit(person(), settings()).pk
    User.objects.all().delete()
    assert admit(person(), settings()).pk != first
