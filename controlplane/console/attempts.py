"""How often logins to the console failed, and how long the next one has to wait.

Each account and each address has a row, so that all workers agree. A login is counted before its
password is looked at, in the statement that also decides whether it may go on: guesses that come at
the same moment cannot pass together, and one that has to wait costs no hash. Accounts that do not
exist are counted like those that do, and tell nobody which they are.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any

from django.db import connection
from django.db.models import F
from django.utils import timezone

from controlplane.console.models import LoginAttempt

FREE = {"account": 5, "address": 20}
"""Failures after which the next login has to wait."""
FIRST_DELAY = timedelta(seconds=15)
"""How long it waits then; each failure more doubles it."""
LONGEST_DELAY = timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(hours=24)
_DOUBLINGS = 10  # beyond the longest delay

_COUNT = """
    INSERT INTO console_loginattempt AS a (key, failures, last, until)
        VALUES (%(key)s, 1, %(now)s, %(now)s)
    ON CONFLICT (key) DO UPDATE SET
        failures = CASE WHEN a.last < %(forgotten)s THEN 1 ELSE a.failures + 1 END,
        last = %(now)s,
        until = %(now)s + CASE
            WHEN a.last < %(forgotten)s OR a.failures + 1 < %(free)s THEN interval '0'
            ELSE least(
                %(first)s * 2 ^ least(a.failures + 1 - %(free)s, %(doublings)s), %(longest)s
            ) END
    WHERE a.until <= %(now)s
"""


def begin(user: str | None, address: str) -> timedelta | None:
    """Counts a login that is about to be tried; how long it has to wait instead, None when it may
    go on. ``user``: None where nobody knows yet whose it is."""
    for kind, value in (("address", network_of(address)), ("account", user)):
        wait = _count(kind, value) if value is not None else None
        if wait is not None:
            return wait
    return None


def succeeded(user: str, address: str) -> None:
    """The login was right: nothing is held against the account any more, and this try not against
    the address. What the address failed at before stays, or whoever has an account could go on
    guessing the others' with a right login in between."""
    LoginAttempt.objects.filter(key=_key("account", user)).delete()
    withdraw(address)


def withdraw(address: str) -> None:
    """What was just tried from there does not count: it was right, or not the address's fault."""
    LoginAttempt.objects.filter(key=_key("address", network_of(address))).update(
        failures=F("failures") - 1, until=timezone.now()
    )


def unlock(user: str) -> None:
    """Lets the account log in at once, from anywhere."""
    LoginAttempt.objects.filter(key=_key("account", user)).delete()
    LoginAttempt.objects.filter(key__startswith="address:").delete()


def network_of(address: str) -> str:
    """The address; of IPv6 the /64, of which one machine has all. What is no address stands for
    itself."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if parsed.version == 6 and parsed.ipv4_mapped is None:
        return str(ip_network((int(parsed), 64), strict=False))
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _key(kind: str, value: str) -> str:
    return f"{kind}:{value}"[:200]


def _count(kind: str, value: str) -> timedelta | None:
    key, now = _key(kind, value), timezone.now()
    LoginAttempt.objects.filter(last__lt=now - FORGOTTEN_AFTER).delete()
    parameters: dict[str, Any] = {
        "key": key,
        "now": now,
        "forgotten": now - FORGOTTEN_AFTER,
        "free": FREE[kind],
        "first": FIRST_DELAY,
        "longest": LONGEST_DELAY,
        "doublings": _DOUBLINGS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, parameters)
        if cursor.rowcount:
            return None
    row = LoginAttempt.objects.filter(key=key).first()
    return row.until - now if row is not None else timedelta(0)
