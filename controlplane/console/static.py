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
        there."""
        try:
            return await super().get_response_async(request)
        except (SuspiciousOperation, ValueError, OSError):
            return response_for_exception(request, Http404())
