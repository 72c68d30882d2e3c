"""Static files of the console."""

from __future__ import annotations

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase


class StaticFiles(ASGIStaticFilesHandler):
    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """A path that leads out of the directory, or that no file can have, is one that is not
        there.

        Browsers ask each time whether a file is still the same: left to themselves they take an
        old one for as fresh as it is old (RFC 9111, 4.2.2), and after an upgrade a page would be
        made of scripts that do not fit together."""
        try:
            answer = await super().get_response_async(request)
            answer["Cache-Control"] = "no-cache"
            return answer
        except (SuspiciousOperation, ValueError, OSError):
            return response_for_exception(request, Http404())
