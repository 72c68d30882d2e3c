"""DeleteOptions from a request: the body when there is one, the query otherwise - never both."""

from __future__ import annotations

from apiserver.codec import body, negotiate
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.endpoints.encodings.base import Encoding
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import BadRequest
from apiserver.meta.gvk import GroupVersionKind
from apiserver.registry.options import DeleteOptions
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError, decode

_KIND = GroupVersionKind("", "v1", "DeleteOptions")
_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


async def read_delete_options(request: ApiRequest) -> DeleteOptions:
    """Raises BadRequest, Invalid, UnsupportedMediaType."""
    data = await request.read_body()
    if data:
        media_type = negotiate.body_type(request.header(b"content-type"), negotiate.ALL)
        options = DeleteOptions.from_body(_read(BY_MEDIA_TYPE[media_type], data))
    else:
        options = DeleteOptions.from_query(request.query)
    options.validate()
    return options


def _read(encoding: Encoding, data: bytes) -> dict[str, object]:
    try:
        value, _ = encoding.parse(data, _KIND)
    except body.BodyError as e:
        raise BadRequest(str(e)) from None
    api_version, kind = body.read_kind(value)
    if kind not in ("", "DeleteOptions"):
        raise BadRequest(
            f'no kind "{kind}" is registered for version "{api_version or "v1"}" in scheme '
            f'"{_SCHEME}"'
        )
    try:
        decoded: dict[str, object] = decode(builtin.schema_for(_KIND), value).value
    except DecodeError as e:
        raise BadRequest(str(e)) from None
    return decoded
