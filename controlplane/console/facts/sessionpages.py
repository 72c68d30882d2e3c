"""Sessions of the console: one's own, and for operators those of every account.

| who | sees | ends |
|---|---|---|
| any account of the console | his own | his own |
| polyplane:viewers | all | his own |
| a superuser | all | all |

The rule is that of tokens (`tokenrights`). A session is named by its account, among whose sessions
alone it is looked for, and a hash of its key: the key itself would open it. Each end and its audit
entry are written in one transaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apiserver.platformroles import VIEWERS
from controlplane.console.facts.asking import Answer, Refused, asked
from controlplane.console.login import peer
from controlplane.console.sessionstore import AccountSession
from controlplane.console.trail import record_session
from controlplane.console.useragents import readable

_MOST = 500
"""Sessions that are shown."""
_MOST_OWN = 100
_OTHERS = "others"
_LIKE_NUMBERS = re.compile(r"[0-9]{1,18}")


@asked("GET", role=VIEWERS)
def listed(account: User, request: HttpRequest) -> Answer:
    """Open sessions of all accounts, or of those whose name contains ``user``; what was used last
    comes first. more: there are others beside these."""
    rows = _open()
    if part := request.GET.get("user"):
        rows = rows.filter(account_id__in=User.objects.filter(username__icontains=part))
    found = list(rows.order_by(F("used_at").desc(nulls_last=True), "session_key")[: _MOST + 1])
    names = _names(found)
    return {
        "items": [
            {
                **described(row, request),
                "account": row.account_id,
                "user": names[row.session_key],
                "endable": _may_end(account, row),
            }
            for row in found[:_MOST]
        ],
        "more": len(found) > _MOST,
    }


@asked("DELETE")
def one(account: User, request: HttpRequest, name: str) -> Answer:
    """Ends one that the account may end; ``others``: all of its own but this one. Of a session
    that it may not end nobody is told that there is one."""
    if name == _OTHERS:
        return _ended(account, request, _of(account.pk))
    number, _, digest = name.partition("-")
    if number == str(account.pk) or (account.is_superuser and _LIKE_NUMBERS.fullmatch(number)):
        rows = _of(int(number))
        for key in rows.values_list("session_key", flat=True):
            if _digest(key) == digest:
                return _ended(account, request, rows.filter(session_key=key), this=True)
    raise Refused(404, "there is no such session of yours")


@asked("DELETE")
def of_account(account: User, request: HttpRequest, number: int) -> Answer:
    """Ends all sessions of an account but the one that asks."""
    if not account.is_superuser and account.pk != number:
        raise Refused(403, "sessions of others are for a superuser to end")
    return _ended(account, request, _of(number))


def own(account: User, request: HttpRequest) -> list[Answer]:
    """The newest first."""
    return [described(row, request) for row in _of(account.pk).order_by("-expire_date")[:_MOST_OWN]]


def described(session: AccountSession, request: HttpRequest) -> Answer:
    """All but whose it is, and its key."""
    begun = session.opened_at or session.expire_date - timedelta(
        seconds=settings.SESSION_COOKIE_AGE
    )
    return {
        "id": _name(session),
        "begun": begun.isoformat(),
        "used": session.used_at.isoformat() if session.used_at else None,
        "address": session.address,
        "browser": readable(session.agent),
        "agent": session.agent,
        "ends": session.expire_date.isoformat(),
        "current": session.session_key == request.session.session_key,
    }


def _ended(
    account: User, request: HttpRequest, rows: QuerySet[AccountSession], this: bool = False
) -> Answer:
    """``this``: the one that asks, too."""
    if not this:
        rows = rows.exclude(session_key=request.session.session_key)
    with transaction.atomic():
        ended = list(rows.select_for_update())
        names = _names(ended)
        for row in ended:
            whose = names[row.session_key]
            record_session(request, peer(request), account.get_username(), whose, _name(row))
        AccountSession.objects.filter(pk__in=[row.pk for row in ended]).delete()
    return {"ended": len(ended)}


def _of(number: int) -> QuerySet[AccountSession]:
    return _open().filter(account_id=number)


def _open() -> QuerySet[AccountSession]:
    """Those of accounts, without what is in them."""
    rows = AccountSession.objects.filter(account_id__isnull=False, expire_date__gt=timezone.now())
    return rows.defer("session_data")


def _names(rows: Iterable[AccountSession]) -> dict[str, str]:
    """Whose sessions these are, by their keys; "" of an account that is gone."""
    numbers = {row.session_key: row.account_id for row in rows}
    accounts = User.objects.filter(pk__in=set(numbers.values()))
    names = dict(accounts.values_list("pk", "username"))
    return {key: names.get(number or 0, "") for key, number in numbers.items()}


def _may_end(account: User, session: AccountSession) -> bool:
    return account.is_superuser or session.account_id == account.pk


def _name(session: AccountSession) -> str:
    return f"{session.account_id}-{_digest(session.session_key)}"


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]
