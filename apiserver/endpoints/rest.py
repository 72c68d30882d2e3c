"""What Django REST framework is told about this API: who authenticates and authorizes, how bodies
are parsed and answers rendered, how both are negotiated, what becomes of an exception.

Each class is thin: what it stands for is done by the filters, by `apiserver.codec.negotiate`, by
`apiserver.endpoints.encodings` and by `apiserver.endpoints.failure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any, ClassVar

from django.http import HttpResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apiserver.authz.attributes import forbidden
from apiserver.codec import negotiate
from apiserver.endpoints import bodies
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.endpoints.encodings.base import Encoding
from apiserver.endpoints.failure import failure
from apiserver.endpoints.filters.authorization import attributes_of
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import ApiError
from apiserver.meta.objects import Object
from apiserver.user import User


class FilterAuthentication(BaseAuthentication):  # type: ignore[misc]  # DRF has no types
    """The user whom `filters.authentication` has recognized."""

    def authenticate(self, request: Request) -> tuple[User, None]:
        return request._request.user, None


class FilterPermission(BasePermission):  # type: ignore[misc]
    """What `filters.authorization` has allowed: a view that somebody routes around the filters
    answers nobody."""

    def has_permission(self, request: Request, view: object) -> bool:
        """Raises Forbidden."""
        asked: ApiRequest = request._request
        if not asked.authorized:
            raise forbidden(attributes_of(asked, asked.user), "")
        return True


class EncodingParser(BaseParser):  # type: ignore[misc]
    """Bytes to a decoded, defaulted object. parser_context: "scope" and "validation" (as for
    `bodies.read_object`)."""

    encoding: ClassVar[Encoding]

    def parse(
        self, stream: IO[bytes], media_type: str, parser_context: Mapping[str, Any]
    ) -> Object:
        scope, validation = parser_context["scope"], parser_context["validation"]
        return bodies.told_body(self.encoding, stream.read(), scope, validation)


class EncodingRenderer(BaseRenderer):  # type: ignore[misc]
    """renderer_context: "pretty"."""

    encoding: ClassVar[Encoding]
    charset = None

    def render(
        self, data: Any, accepted_media_type: str, renderer_context: Mapping[str, Any]
    ) -> bytes:
        return self.encoding.render(data, pretty=renderer_context["pretty"])


def _parser(media_type: str) -> type[EncodingParser]:
    encoding = BY_MEDIA_TYPE[media_type]
    members = {"encoding": encoding, "media_type": media_type}
    return type(f"{_name(encoding)}Parser", (EncodingParser,), members)


def _renderer(media_type: str) -> type[EncodingRenderer]:
    encoding = BY_MEDIA_TYPE[media_type]
    members = {"encoding": encoding, "media_type": media_type, "format": _name(encoding).lower()}
    return type(f"{_name(encoding)}Renderer", (EncodingRenderer,), members)


def _name(encoding: Encoding) -> str:
    return type(encoding).__name__.removesuffix("Encoding")


PARSERS = tuple(_parser(media_type) for media_type in negotiate.ALL)
RENDERERS = {media_type: _renderer(media_type) for media_type in negotiate.ALL}
"""By media type."""


class KubernetesNegotiation(BaseContentNegotiation):  # type: ignore[misc]
    """A view says what it offers (`KubernetesView.accept`); the rest is `codec.negotiate`."""

    def select_parser(self, request: Request, parsers: Sequence[EncodingParser]) -> EncodingParser:
        """Raises UnsupportedMediaType."""
        offered = {parser.media_type: parser for parser in parsers}
        content_type = request._request.header(b"content-type")
        return offered[negotiate.body_type(content_type, tuple(offered))]

    def select_renderer(
        self, request: Request, renderers: Sequence[EncodingRenderer], format_suffix: object = None
    ) -> tuple[EncodingRenderer, str]:
        """Sets ``request.accepted``. Raises NotAcceptable."""
        offered = {renderer.media_type: renderer for renderer in renderers}
        accepted = request.parser_context["view"].accept(request._request, tuple(offered))
        request.accepted = accepted
        return offered[accepted.media_type], accepted.media_type


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """A Status of what the client is told about. Raises what is no ApiError: the entry's
    concern."""
    if not isinstance(error, ApiError):
        raise error
    return failure(context["view"].request, error)
