"""/version: what kubectl prints as the server's version."""

from __future__ import annotations

import platform

import orjson
from django.http import HttpResponse

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    version = server.git_version
    document = {
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    return HttpResponse(orjson.dumps(document, option=orjson.OPT_INDENT_2), content_type="application/json")
