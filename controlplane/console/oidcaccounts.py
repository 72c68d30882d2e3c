"""Console accounts of people whom an OpenID provider knows.

An account belongs to an issuer and a subject, which no provider gives twice, and never to a name:
whoever may choose a name at the provider could choose that of another account. So a name that
somebody else has is refused, and the account that a person has follows the name.
"""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.console.models import OidcIdentity
from controlplane.console.oidcsettings import SUPERUSER, OidcSettings
from controlplane.console.relyingparty import Person

LONGEST = 150
"""Characters of a name, as Django has it."""


class NotAdmitted(Exception):
    """The person is known, and may not use the console. The text says why."""


def admit(person: Person, settings: OidcSettings) -> User:
    """Their account, made or brought up to date. Raises NotAdmitted; what they have lost is taken
    from the account nevertheless."""
    try:
        account, problem = _update(person, settings)
    except IntegrityError:  # the same person, or the same name, at the same moment
        account, problem = _update(person, settings)
    if account is None or problem:
        raise NotAdmitted(problem)
    return account


def _update(person: Person, settings: OidcSettings) -> tuple[User | None, str]:
    """The account, and why its person may not come in, or ""."""
    given = frozenset[str]().union(*(settings.roles.get(g, ()) for g in person.groups))
    with transaction.atomic():
        identity = (
            OidcIdentity.objects.select_for_update()
            .select_related("user")
            .filter(issuer=person.issuer, subject=person.subject)
            .first()
        )
        problem = _name_problem(person.name, identity)
        if identity is None:
            if not given:
                return None, "no group of yours has a role in this console"
            if problem and _is_known(person):  # by now: made at the same moment
                return _update(person, settings)
            if problem:
                return None, problem
            account = User(username=person.name)
            account.set_unusable_password()
            account.save()
            OidcIdentity.objects.create(user=account, issuer=person.issuer, subject=person.subject)
        else:
            account = identity.user
        _give(account, given, settings.targets)
        if not problem:
            account.username = person.name
        account.save(update_fields=["username", "is_staff", "is_superuser"])
    if not account.is_active:
        return account, "your account is closed"
    if not account.is_staff:
        return account, "no group of yours has a role in this console"
    return account, problem


def _is_known(person: Person) -> bool:
    return OidcIdentity.objects.filter(issuer=person.issuer, subject=person.subject).exists()


def _give(account: User, given: frozenset[str], targets: frozenset[str]) -> None:
    """Of what the settings name, exactly what the provider says; what an operator gave beside that
    stays."""
    lost = targets - given - {SUPERUSER}
    account.groups.remove(*Group.objects.filter(name__in=lost))
    for name in given - {SUPERUSER}:
        account.groups.add(Group.objects.get_or_create(name=name)[0])
    if SUPERUSER in targets:
        account.is_superuser = SUPERUSER in given
    account.is_staff = account.is_superuser or account.groups.exists()


def _name_problem(name: str, identity: OidcIdentity | None) -> str:
    if identity is not None and identity.user.username == name:
        return ""
    try:
        User.username_validator(name)
        good = len(name) <= LONGEST and name == User.normalize_username(name)
    except ValidationError:
        good = False
    if not good:
        return "your name at the provider is none that an account can have"
    others = User.objects.filter(username__iexact=name)
    if identity is not None:
        others = others.exclude(pk=identity.user.pk)
    if others.exists():
        return "another account has your name; an operator renames or deletes it"
    return ""
