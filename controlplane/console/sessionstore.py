"""Sessions of the console that say whose they are, where and when they were opened, and when they
were last used. Django's own do not, so that somebody who wants to see or end his would have to read
everybody's."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DjangosStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import DatabaseError, models
from django.utils import timezone

log = logging.getLogger("polyplane.console")

ORIGIN = "polyplane_origin"
"""Of a session's data: address, what the browser says it is, time (ISO 8601)."""
COARSE = timedelta(minutes=1)
"""A use is written down if the last that was is older: pages ask a dozen things at once."""


class AccountSession(AbstractBaseSession):
    """account_id: None for nobody's; address, agent and opened_at: "" and None where they are not
    known, as of sessions that were opened before they were kept."""

    account_id = models.BigIntegerField(null=True, db_index=True)
    address = models.TextField(default="", db_default="")
    agent = models.TextField(default="", db_default="")
    opened_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    @classmethod
    def get_session_store_class(cls) -> type[SessionStore]:
        return SessionStore


class SessionStore(DjangosStore):
    """The name belongs to the salt of what is stored: it is Django's, whose sessions go on."""

    @classmethod
    def get_model_class(cls) -> Any:
        return AccountSession

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        session = cast(AccountSession, super().create_model_instance(data))
        account = data.get(SESSION_KEY)
        session.account_id = None if account is None else int(account)
        if origin := data.get(ORIGIN):
            session.address, session.agent, opened = origin
            session.opened_at = datetime.fromisoformat(opened)
        session.used_at = timezone.now()
        return session

    def _get_session_from_db(self) -> Any:
        session = super()._get_session_from_db()  # type: ignore[misc]  # the stubs lack it
        if session is not None:
            _used(session)
        return session


def _used(session: AccountSession) -> None:
    """Whoever cannot be written down is let in all the same."""
    now = timezone.now()
    if session.used_at is not None and session.used_at > now - COARSE:
        return
    row = AccountSession.objects.filter(session_key=session.session_key)
    try:
        row.update(used_at=now)
    except DatabaseError as error:
        log.error("when a session was last used is not written down: %s", error)
