"""Logging in to the console: with a delay that grows with every failure, and a line in the log for
each try."""

from __future__ import annotations

import logging
import math
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.forms import AuthenticationForm

from controlplane.console import attempts
from controlplane.console.trail import record_login, record_unseen

log = logging.getLogger("polyplane.console")


class LoginForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
    """What templates/admin/login.html shows."""

    @property
    def passwords(self) -> bool:
        return bool(settings.POLYPLANE_CONSOLE_PASSWORD_LOGIN)

    @property
    def provider(self) -> str:
        """Where else one can log in, "" for nowhere."""
        found = settings.POLYPLANE_CONSOLE_OIDC
        return found.host if found is not None else ""

    def clean(self) -> dict[str, Any]:
        if not self.passwords:
            raise ValidationError("Passwords are not accepted here.", code="no_passwords")
        user, address = self.cleaned_data.get("username"), peer(self.request)
        if user is None or not self.cleaned_data.get("password"):
            return dict(super().clean())
        wait = attempts.begin(user, address)
        if wait is not None:
            log.warning(
                "login refused unseen: user=%s address=%s, %s to wait",
                ascii(user),
                ascii(address),
                in_words(wait),
            )
            record_unseen(user, address, self._agent())
            text = (
                f"Too many failed logins. Try again in {in_words(wait)}, or let an operator "
                f"run: manage.py reset_admin_password"
            )
            raise ValidationError(text, code="too_many_failures")
        try:
            cleaned = super().clean()
        except ValidationError:
            log.warning("login failed: user=%s address=%s", ascii(user), ascii(address))
            self._record(user, address, 401, "wrong name or password")
            raise
        attempts.succeeded(user, address)
        log.info("login: user=%s address=%s", ascii(user), ascii(address))
        self._record(user, address, 200, "")
        return dict(cleaned)

    def _record(self, user: str, address: str, code: int, reason: str) -> None:
        record_login(user, address, self._agent(), code, reason)

    def _agent(self) -> str:
        return str(self.request.META.get("HTTP_USER_AGENT", ""))


def peer(request: HttpRequest) -> str:
    """The client's address: that of the connection, or, when that is a trusted proxy's
    (POLYPLANE_TRUSTED_PROXIES), the last one in X-Forwarded-For, which the proxy wrote itself."""
    address = str(request.META.get("REMOTE_ADDR") or "")
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    if not forwarded or not settings.POLYPLANE_TRUSTED_PROXIES:
        return address
    try:
        trusted = any(
            ip_address(address) in network for network in settings.POLYPLANE_TRUSTED_PROXIES
        )
        return str(ip_address(forwarded)) if trusted else address
    except ValueError:
        return address


def in_words(wait: timedelta) -> str:
    seconds = max(1, math.ceil(wait.total_seconds()))
    return f"{seconds} seconds" if seconds < 120 else f"{math.ceil(seconds / 60)} minutes"
