"""The console's page: one document for all of its addresses, whose scripts show what the address
says by asking the API (`gateway`). Nothing of it may be evaluated or written inline.
"""

from __future__ import annotations

from typing import Any, cast

from django.contrib.admin import site
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, re_path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from controlplane import accounts

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)


@never_cache
@require_safe
@ensure_csrf_cookie
def shell(request: HttpRequest, **_: Any) -> HttpResponse:
    account = cast(User, request.user)
    about = {"account": account.get_username(), "account_id": accounts.api_uid(account)}
    if account.has_perm("auth.change_user"):
        about["accounts"] = reverse("admin:auth_user_changelist")
    response = render(request, "console/shell.html", about)
    response["Content-Security-Policy"] = POLICY
    return response


_view = site.admin_view(shell)
pages = [
    path("", _view, name="console"),
    re_path(r"^(?:t|tenants|audit|sessions|system|me)(?:/.*)?$", _view),
]
"""Below /admin/console/, where the admin site has pages of its own."""
