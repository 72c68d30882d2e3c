"""/version: what kubectl prints as the server's version. It stands behind the router of the
resources, and is JSON only."""

from __future__ import annotations

import platform
from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from apiserver.codec import negotiate
from apiserver.codec.negotiate import Accepted
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.rest import RENDERERS
from apiserver.endpoints.views.base import Handler, KubernetesView, routed
from apiserver.errors import UnknownResource


class VersionView(KubernetesView):
    renderer_classes: ClassVar[list[type]] = [RENDERERS[negotiate.JSON]]

    def handler(self) -> Handler:
        if self.request.info.path.rstrip("/") != "/version":
            raise UnknownResource
        return super().handler()

    def accept(self, request: ApiRequest, offered: tuple[str, ...]) -> Accepted:
        negotiate.check_route(request.header(b"accept"), supported=offered)
        return Accepted(negotiate.JSON, pretty=True)

    async def get(self, request: Request) -> Response:
        return Response(document(self.server.git_version))


def document(version: str) -> dict[str, str]:
    """``version``: as /version calls gitVersion."""
    return {
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


dispatch = routed(VersionView)
