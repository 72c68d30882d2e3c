"""/version: what kubectl prints as the server's version. It stands behind the router of the resources, and is JSON only."""

from __future__ import annotations

import platform

import orjson
from django.http import HttpResponse

from apiserver.codec import negotiate
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.errors import MethodNotAllowed, UnknownResource


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    if request.info.path not in ("/version", "/version/"):
        raise UnknownResource
    if request.method != "GET":
        raise MethodNotAllowed
    negotiate.check_route(request.header(b"accept"), supported=(negotiate.JSON,))
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
