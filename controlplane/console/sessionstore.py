"""Sessions of the console that say whose they are. Django's own do not, so that somebody who wants
to see or end his would have to read everybody's."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DjangosStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models


class AccountSession(AbstractBaseSession):
    """account_id: None for nobody's."""

    account_id = models.BigIntegerField(null=True, db_index=True)

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
        return session
