"""What somebody may know of himself: his account, roles, and sessions in other browsers.

A session is named by a hash of its key: the key itself would open it.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apiserver.platformroles import ROLES
from controlplane import accounts
from controlplane.console.facts.asking import Answer, Refused, asked
from controlplane.console.sessionstore import AccountSession
from controlplane.console.useragents import readable

_MOST = 100
"""Sessions that are shown."""


@asked("GET")
def me(account: User, request: HttpRequest) -> Answer:
    held = sorted(ROLES) if account.is_superuser else accounts.roles_of(account)
    return {
        "name": account.get_username(),
        "uid": accounts.api_uid(account),
        "groups": accounts.api_groups(account),
        "superuser": account.is_superuser,
        "roles": [{"name": role, "meaning": ROLES[role]} for role in held],
        "joined": account.date_joined.isoformat(),
        "lastLogin": account.last_login.isoformat() if account.last_login else None,
        "password": account.has_usable_password(),
        "sessions": [
            {
                "id": _name(session),
                "begun": (session.opened_at or session.expire_date - _age()).isoformat(),
                "used": session.used_at.isoformat() if session.used_at else None,
                "address": session.address,
                "browser": readable(session.agent),
                "agent": session.agent,
                "ends": session.expire_date.isoformat(),
                "current": session.session_key == request.session.session_key,
            }
            for session in _own(account)[:_MOST]
        ],
    }


@asked("DELETE")
def session(account: User, request: HttpRequest, name: str) -> Answer:
    """Ends one of one's own; ``others``: all but this one."""
    ended = [
        own
        for own in _own(account)
        if _name(own) == name
        or (name == "others" and own.session_key != request.session.session_key)
    ]
    if not ended and name != "others":
        raise Refused(404, "there is no such session of yours")
    for own in ended:
        own.delete()
    return {"ended": len(ended)}


def _own(account: User) -> QuerySet[AccountSession]:
    """The newest first."""
    open_ = AccountSession.objects.filter(account_id=account.pk, expire_date__gt=timezone.now())
    return open_.order_by("-expire_date")


def _name(session: AccountSession) -> str:
    return hashlib.sha256(session.session_key.encode()).hexdigest()[:16]


def _age() -> timedelta:
    return timedelta(seconds=settings.SESSION_COOKIE_AGE)
