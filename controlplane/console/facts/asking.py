"""Questions of the console's own pages, answered in JSON; refusals are a Status, as the API's."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

from apiserver.storage.visibility import django_everywhere
from controlplane import accounts
from controlplane.console.sessions import ANOTHERS, PAGE_OF
from controlplane.tenancy.owntenants import is_storable

log = logging.getLogger("polyplane.console")

Answer = dict[str, Any]
Question = Callable[..., Answer]
_MOST_TEXTS = 100
_LONGEST = 64 * 1024
_MOST_DIGITS = 12
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "AlreadyExists",
    413: "RequestEntityTooLarge",
    503: "ServiceUnavailable",
}


class Refused(Exception):
    """code: one of `_REASONS`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def status(code: int, message: str) -> JsonResponse:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return JsonResponse(
        {**body, "message": message, "reason": _REASONS[code], "code": code}, status=code
    )


def asked(*methods: str, role: str = "") -> Callable[[Question], Callable[..., JsonResponse]]:
    """A view of what a question returns, given the account that asks and the request; ``role``:
    for its holders only. Rows of all tenants show themselves: the question says which are whose."""

    def view_of(question: Question) -> Callable[..., JsonResponse]:
        @never_cache
        @wraps(question)
        def view(request: HttpRequest, **parameters: Any) -> JsonResponse:
            try:
                account = _account(request, methods, role)
                with django_everywhere():
                    return JsonResponse(question(account, request, **parameters))
            except Refused as refused:
                return status(refused.code, str(refused))
            except DatabaseError as error:
                log.error("%s: %s", request.path, error)
                return status(503, "the database does not answer: try again")

        return view

    return view_of


def _account(request: HttpRequest, methods: tuple[str, ...], role: str) -> User:
    """Raises Refused."""
    account = request.user
    if not isinstance(account, User) or not account.is_active or not account.is_staff:
        raise Refused(401, "the console's session has ended: log in")
    if request.headers.get(PAGE_OF, "") not in ("", accounts.api_uid(account)):
        raise Refused(401, ANOTHERS)
    if request.method not in methods:
        raise Refused(405, f"{request.method} is none of {', '.join(methods)}")
    if any("\0" in value for _, values in request.GET.lists() for value in values):
        raise Refused(400, "a parameter has a NUL")
    if role and not accounts.holds(account, role):
        raise Refused(403, f"this takes the role {role}")
    return account


def body_of(request: HttpRequest) -> Answer:
    """The JSON object that was sent. Raises Refused."""
    if int(request.headers.get("Content-Length") or 0) > _LONGEST:
        raise Refused(413, f"a question has at most {_LONGEST} bytes")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON") from None
    if not isinstance(body, dict):
        raise Refused(400, "the body is no JSON object")
    return body


def text_of(body: Answer, name: str, most: int = 253) -> str:
    """A member that is a string, "" where it is absent. Raises Refused."""
    value = body.get(name) or ""
    if not isinstance(value, str) or len(value) > most or not is_storable(value):
        raise Refused(400, f"{name} has to be a text of at most {most} characters")
    return value


def texts_of(body: Answer, name: str) -> list[str]:
    """A member that is a list of strings. Raises Refused."""
    value = body.get(name) or []
    if not isinstance(value, list) or len(value) > _MOST_TEXTS:
        raise Refused(400, f"{name} has to be a list of at most {_MOST_TEXTS} texts")
    return [text_of({name: one}, name) for one in value]


def number_of(request: HttpRequest, name: str, default: int, most: int) -> int:
    """A parameter of the query. Raises Refused."""
    text = request.GET.get(name, "")
    if not text:
        return default
    good = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not good or int(text) > most:
        raise Refused(400, f"{name} has to be a number from 0 to {most}")
    return int(text)
