"""Whose a session of the console is, and who that is to the API.

Django finds the account as its middleware does: a session that has ended, that is of an account
which was disabled, or from before a change of its password, is nobody's. The answer is remembered
for `REMEMBERED` seconds, because a page asks a dozen things at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import connections
from django.http import HttpRequest

from apiserver.platformroles import LOOKING, VIEWERS
from apiserver.user import User, authenticated
from controlplane import accounts

REMEMBERED = 1.0  # seconds
SOURCE = "authentication.polyplane.dev/source"
"""Extra of users who come by the console's session; audit entries show it."""
PAGE_OF = "X-Console-Account"
"""Header by which a page says whose it is: the account's uid to the API."""
ANOTHERS = "another account has logged in since this page was opened: open it anew"
_MOST = 10_000
_WAITING = 50
"""Look-ups of sessions that were nobody's, or never asked about, that wait at a time."""
_LONGEST = 128  # characters of a session's key: Django's have 32


def user_of(key: str) -> User | None:
    """Whom the session stands for: the user of a token that `manage.py token create --all-tenants
    --as-account` makes, with his platform roles. None: nobody, or nobody who may use the
    console."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    account = get_user(request)
    if not account.is_active or not account.is_staff:
        return None
    groups, roles = accounts.api_groups(account), accounts.roles_of(account)
    name = account.get_username()
    return User(
        name,
        accounts.api_uid(account),
        authenticated(groups, name),
        {SOURCE: ("console",)},
        everywhere=True,
        platform=frozenset([*roles, LOOKING] if VIEWERS in roles else roles),
    )


def _looked_up(key: str) -> User | None:
    try:
        return user_of(key)
    finally:
        connections.close_all()  # this thread's: nobody else would


class Crowded(Exception):
    """Too many ask who they are."""


class Sessions:
    """What `user_of` says, from the event loop; whoever asks at the same moment shares a
    look-up. Cookies that anybody may invent wait in a line of their own, which is short, so that
    they hold up nobody who has logged in."""

    def __init__(
        self,
        find: Callable[[str], User | None] = _looked_up,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find, self._clock = find, clock
        self._known: dict[str, tuple[float, asyncio.Future[User | None]]] = {}
        self._threads = ThreadPoolExecutor(2, "console-sessions")
        self._doubtful = ThreadPoolExecutor(1, "console-strangers")
        self._waiting = 0
        self._good: dict[str, None] = {}

    async def user(self, key: str) -> User | None:
        """None for nobody. Raises Crowded, and what the database does."""
        if not key or len(key) > _LONGEST:
            return None
        until, looking = self._known.get(key, (0.0, None))
        if looking is None or until <= self._clock():
            if len(self._known) >= _MOST:
                self._known.clear()
            looking = asyncio.ensure_future(self._look_up(key))
            self._known[key] = self._clock() + REMEMBERED, looking
        try:
            return await asyncio.shield(looking)
        except BaseException:
            self._known.pop(key, None)
            raise

    async def _look_up(self, key: str) -> User | None:
        loop = asyncio.get_running_loop()
        if key in self._good:
            user = await loop.run_in_executor(self._threads, self._find, key)
        else:
            user = await self._of_stranger(loop, key)
        if user is None:
            self._good.pop(key, None)
        elif key not in self._good:
            if len(self._good) >= _MOST:
                self._good.clear()
            self._good[key] = None
        return user

    async def _of_stranger(self, loop: asyncio.AbstractEventLoop, key: str) -> User | None:
        if self._waiting >= _WAITING:
            raise Crowded
        self._waiting += 1
        try:
            return await loop.run_in_executor(self._doubtful, self._find, key)
        finally:
            self._waiting -= 1
