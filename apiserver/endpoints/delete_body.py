"""DeleteOptions from a request: the body when there is one, the query otherwise - never both."""

from __future__ import annotations

from apiserver.codec import body, cbor, negotiate, protobuf
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
        options = DeleteOptions.from_body(_read(media_type, data))
    else:
        options = DeleteOptions.from_query(request.query)
    options.validate()
    return options


def _read(media_type: str, data: bytes) -> dict[str, object]:
    try:
        if media_type == negotiate.PROTOBUF:
            value = protobuf.decode(data, default=_KIND)
        elif media_type == negotiate.CBOR:
            value = cbor.loads(data)
        else:
            value, _ = body.decode_text(data, is_yaml=media_type == negotiate.YAML)
    except (body.BodyError, cbor.CBORError, protobuf.ProtobufError) as e:
        raise BadRequest(str(e)) from None
    api_version, kind = body.read_kind(value)
    if kind not in ("", "DeleteOptions"):
        raise BadRequest(f'no kind "{kind}" is registered for version "{api_version or "v1"}" in scheme "{_SCHEME}"')
    try:
        decoded: dict[str, object] = decode(builtin.schema_for(_KIND), value).value
    except DecodeError as e:
        raise BadRequest(str(e)) from None
    return decoded
