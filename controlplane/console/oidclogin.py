"""Logging in to the console at an OpenID provider: there, and back.

What one login is known by waits in a signed cookie that only the browser which began it has: no
other site can set it (``__Host-``) or end a login in somebody's browser that it began in its own
(login CSRF), and nothing is stored for people who never come back.
"""

from __future__ import annotations

import hmac
import logging
import threading
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import login
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apiserver.authn.accountclaims import Refused
from controlplane.console import attempts, oidclogout
from controlplane.console.login import in_words, peer
from controlplane.console.oidcaccounts import NotAdmitted, admit
from controlplane.console.oidcsettings import OidcSettings
from controlplane.console.relyingparty import (
    Challenge,
    Person,
    ProviderFailed,
    RelyingParty,
    challenge,
)
from controlplane.console.trail import record_login, record_unseen

log = logging.getLogger("polyplane.console")

COOKIE = "__Host-polyplane_oidc"
PATIENCE = 600
"""Seconds that somebody has to log in at the provider."""
AT_ONCE = 8
"""Logins of this process that wait for the provider."""
_SALT = "polyplane.console.oidc"
_LONGEST = 2000  # characters of the page to go to
_BACKEND = "django.contrib.auth.backends.ModelBackend"
_turns = threading.BoundedSemaphore(AT_ONCE)


class Failed(Exception):
    """text: for whoever logs in; why: for operators, in log and audit entry, "" where there is no
    more to say."""

    def __init__(self, status: int, text: str, why: str = "") -> None:
        super().__init__(text)
        self.status, self.text, self.why = status, text, why or text


@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    provider = _provider()
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        return HttpResponseRedirect(reverse("admin:login"))  # whose idea was this?
    asked = challenge(provider.redirect_uri or f"https://{request.get_host()}{_callback()}")
    try:
        address = _ask(provider, "address", asked)
    except Failed as failed:
        log.error("login by OpenID Connect cannot begin: %s", ascii(failed.why))
        return _page(request, failed)
    response = HttpResponseRedirect(address)
    pending = signing.dumps([*asked, _local(request, request.GET.get("next", ""))], salt=_SALT)
    response.set_cookie(
        COOKIE, pending, max_age=PATIENCE, secure=True, httponly=True, samesite="Lax"
    )
    return response


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    provider, at, name = _provider(), peer(request), ""
    wait, agent = attempts.begin(None, at), str(request.META.get("HTTP_USER_AGENT", ""))
    try:
        if wait is not None:
            record_unseen(name, at, agent, _callback())
            raise Failed(429, f"Too many failed logins. Try again in {in_words(wait)}.")
        asked, next_page = _pending(request)
        person = _person(request, provider, asked)
        name = person.name
        _log_in(request, person, provider)
        response: HttpResponse = HttpResponseRedirect(next_page)
    except Failed as failed:
        why = ascii(failed.why)
        log.warning("login failed: user=%s address=%s, %s", ascii(name), ascii(at), why)
        if failed.status >= 500:
            attempts.withdraw(at)
        if wait is None:
            record_login(name, at, agent, 401, failed.why, _callback())
        response = _page(request, failed)
    else:
        attempts.succeeded(name, at)
        log.info("login: user=%s address=%s, by OpenID Connect", ascii(name), ascii(at))
        record_login(name, at, agent, 200, "", _callback())
    response.set_cookie(COOKIE, max_age=0, secure=True, httponly=True, samesite="Lax")
    return response


pages = [
    path("login/", begin, name="oidc_login"),
    path("callback/", callback, name="oidc_callback"),
]


def _provider() -> OidcSettings:
    found: OidcSettings | None = settings.POLYPLANE_CONSOLE_OIDC
    if found is None:
        raise Http404
    return found


def _callback() -> str:
    return reverse("oidc_callback")


def _pending(request: HttpRequest) -> tuple[Challenge, str]:
    """What the browser began, and the page that it wanted. Raises Failed."""
    query = request.GET
    if any(len(query.getlist(name)) > 1 for name in ("state", "code", "iss", "error")):
        raise Failed(400, "This is no answer of the identity provider: it says something twice.")
    try:
        *parts, page = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=PATIENCE)
    except signing.BadSignature:
        raise Failed(
            400, "This login was not begun in this browser, or has taken too long. Begin again."
        ) from None
    asked = Challenge(*parts)
    if not hmac.compare_digest(query.get("state", "").encode(), asked.state.encode()):
        raise Failed(400, "This is no answer to the login that this browser began. Begin again.")
    return asked, page


def _person(request: HttpRequest, provider: OidcSettings, asked: Challenge) -> Person:
    """Raises Failed."""
    query, issuer = request.GET, request.GET.get("iss")
    if issuer is not None and issuer != provider.issuer:
        raise Failed(401, "This answer comes from another identity provider.")
    if error := query.get("error"):
        text = "The identity provider has refused the login."
        raise Failed(401, text, f"the provider answered: {error[:100]}")
    if not query.get("code"):
        raise Failed(400, "The answer of the identity provider has no code.")
    person: Person = _ask(provider, "person", asked, query["code"], issuer)
    return person


def _ask(provider: OidcSettings, what: str, *arguments: Any) -> Any:
    """Beside the thread of this request, on the server's event loop. Raises Failed."""
    if not _turns.acquire(blocking=False):
        raise Failed(503, "Too many people log in at this moment. Try again.")
    try:
        return async_to_sync(getattr(RelyingParty(provider), what))(*arguments)
    except ProviderFailed as error:
        text = f"The identity provider {provider.host} cannot be asked at present. "
        raise Failed(502, text + "The server's log says why.", str(error)) from None
    except Refused as error:
        text = "The identity provider's answer is not accepted. The server's log says why."
        raise Failed(401, text, str(error)) from None
    finally:
        _turns.release()


def _log_in(request: HttpRequest, person: Person, provider: OidcSettings) -> None:
    """Raises Failed."""
    try:
        account = admit(person, provider)
    except NotAdmitted as error:
        text = f"You are {person.name[:200]} at {provider.host}, but {error}."
        raise Failed(403, text, str(error)) from None
    login(request, account, backend=_BACKEND)
    oidclogout.remember(request, person)


def _local(request: HttpRequest, page: str) -> str:
    """The page, if it is one of ours."""
    own = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=True)
    return page if own and len(page) <= _LONGEST else reverse("admin:index")


def _page(request: HttpRequest, failed: Failed) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": "Log in", "text": failed.text}
    return render(request, "console/loginfailed.html", context, status=failed.status)
