"""Logging out of the console, and on to where the OpenID provider ends its own session.

Whoever logged in at the provider is sent on to its ``end_session_endpoint``; everybody else is
logged out as Django does it. What that needs is kept with the session from the login on, so logging
out asks nobody: a provider that is away or hangs keeps nobody logged in. The ID token, which the
provider wants back as a hint of who goes, lies in the session's row sealed under the installation's
secret, because other parties that trust the same client may take it for a credential; it goes with
the row.

Sources: OpenID Connect RP-Initiated Logout 1.0, sections 2 and 3.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from typing import Any
from urllib.parse import urlencode, urlsplit

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apiserver.authn.derivedkeys import derived_secret
from controlplane.console.oidcsettings import CALLBACK, OidcSettings
from controlplane.console.relyingparty import Person

COOKIE = "__Host-polyplane_oidc_out"
PATIENCE = 600
"""Seconds that somebody has to confirm the logout at the provider."""
LONGEST_TOKEN = 6000
"""Characters of an ID token that is given back: with more, the address is one that servers refuse
(8 KiB is what they commonly take), and the person's name has to do."""
_HELD = "polyplane_oidc_logout"
_PURPOSE = b"polyplane console id tokens"
_NONCE = 12  # bytes; NIST SP 800-38D


def remember(request: HttpRequest, person: Person) -> None:
    """What ends the person's session at the provider, in their session here; nothing where the
    provider has no place for that."""
    request.session.pop(_HELD, None)
    if person.end_session:
        token = person.token if len(person.token) <= LONGEST_TOKEN else ""
        held = [person.issuer, person.end_session, person.name, _sealed(token) if token else ""]
        request.session[_HELD] = held


def _logout(request: HttpRequest) -> HttpResponse:
    """Wrapped as all pages of the admin site: a POST gets here with the CSRF token only. Who comes
    by a link stays logged in, and is shown the form."""
    if request.method in ("GET", "HEAD"):
        shown = render(request, "console/logout.html", status=405)
        shown["Allow"] = "POST, OPTIONS"
        return shown
    provider: OidcSettings | None = settings.POLYPLANE_CONSOLE_OIDC
    held = request.session.get(_HELD) if request.method == "POST" else None
    response: HttpResponse = admin.site.logout(request)
    if held is None or provider is None or held[0] != provider.issuer:
        return response
    state = secrets.token_urlsafe(32)
    _, where, name, sealed = held
    address = _address(where, provider, _opened(sealed), name, _return(request, provider), state)
    response = _page(request, urlsplit(where).netloc, going_on=address)
    response.set_cookie(COOKIE, state, max_age=PATIENCE, secure=True, httponly=True, samesite="Lax")
    return response


@never_cache
@require_GET
def returned(request: HttpRequest) -> HttpResponse:
    """Changes nothing, whoever leads here: says that all is done to the browser that was sent out
    from here, and shows the login to others."""
    provider: OidcSettings | None = settings.POLYPLANE_CONSOLE_OIDC
    sent, state = request.COOKIES.get(COOKIE, ""), request.GET.get("state", "")
    ours = bool(sent) and hmac.compare_digest(sent.encode(), state.encode())
    if ours and provider is not None and not request.user.is_authenticated:
        response = _page(request, provider.host)
    else:
        response = HttpResponseRedirect(reverse("admin:login"))
    response.set_cookie(COOKIE, max_age=0, secure=True, httponly=True, samesite="Lax")
    return response


pages = [
    path("logout/", admin.site.admin_view(_logout)),
    path("oidc/loggedout/", returned, name="oidc_logged_out"),
]
"""Below /admin/, before the admin site's own."""


def _address(
    where: str, provider: OidcSettings, token: str, name: str, back: str, state: str
) -> str:
    hint = {"id_token_hint": token} if token else {"logout_hint": name}
    query = {
        **hint,
        "client_id": provider.client_id,
        "post_logout_redirect_uri": back,
        "state": state,
    }
    return f"{where}{'&' if '?' in where else '?'}{urlencode(query)}"


def _return(request: HttpRequest, provider: OidcSettings) -> str:
    """Where the provider sends the browser back to, at the host of the redirect URI."""
    base = provider.redirect_uri.removesuffix(CALLBACK) or f"https://{request.get_host()}"
    return base + reverse("oidc_logged_out")


def _page(request: HttpRequest, host: str, going_on: str = "") -> HttpResponse:
    """No redirect answers the form: browsers hold those to ``form-action 'self'`` (CSP 3)."""
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": "Logged out",
        "host": host,
        "going_on": going_on,
    }
    return render(request, "console/loggedout.html", context)


def _cipher() -> AESGCM:
    return AESGCM(derived_secret(settings.SECRET_KEY.encode(), _PURPOSE))


def _sealed(token: str) -> str:
    nonce = secrets.token_bytes(_NONCE)
    return base64.b64encode(nonce + _cipher().encrypt(nonce, token.encode(), None)).decode()


def _opened(sealed: str) -> str:
    """ "" for nothing, and for what another secret has sealed."""
    raw = base64.b64decode(sealed)
    try:
        return _cipher().decrypt(raw[:_NONCE], raw[_NONCE:], None).decode() if raw else ""
    except InvalidTag:
        return ""
