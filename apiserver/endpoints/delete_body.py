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


_META = "meta.k8s.io/v1"
_UNVERSIONED = frozenset(
    {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "CreateOptions", "Status"}
    | {"UpdateOptions"}
)
"""Kinds that the scheme finds under any version, and those that it has in one of its own."""
_VERSIONED = frozenset(
    {"GetOptions", "ListOptions", "PartialObjectMetadata", "PartialObjectMetadataList"}
    | {"PatchOptions", "Table", "TableOptions", "WatchEvent"}
)


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
        value = encoding.read_options(data, _KIND)
        api_version, kind = body.read_kind(value)
    except body.BodyError as e:
        raise BadRequest(str(e)) from None
    if kind not in ("", "DeleteOptions"):
        raise BadRequest(_another(api_version or _META, kind))
    try:
        decoded: dict[str, object] = decode(builtin.schema_for(_KIND), value).value
    except DecodeError as e:
        raise BadRequest(str(e)) from None
    return decoded


def _another(api_version: str, kind: str) -> str:
    """Why an object of another kind is no DeleteOptions."""
    if kind in _UNVERSIONED or (api_version == _META and kind in _VERSIONED):
        return f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion"
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
