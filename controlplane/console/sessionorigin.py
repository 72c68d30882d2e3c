"""Where a session of the console was opened: from which address, by which browser, and when.

It is kept with the session from the login on, whichever way somebody has logged in, and goes with
it when its key changes.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from apiserver.audit.trail import cut, plain
from controlplane.console.login import peer
from controlplane.console.sessionstore import ORIGIN

_MOST = 300
"""Characters of what a browser says it is."""


@receiver(user_logged_in)
def opened(request: HttpRequest, **_: Any) -> None:
    agent = plain(cut(str(request.META.get("HTTP_USER_AGENT", "")), _MOST))
    request.session[ORIGIN] = [peer(request), agent, timezone.now().isoformat()]
