"""How objects travel: one object for each media type, and the only place that tells them apart.

To add an encoding: its media type in `apiserver.codec.negotiate`, a module here with a subclass of
`base.Encoding`, and a line in `_ALL`.
"""

from __future__ import annotations

from apiserver.endpoints.encodings.base import Encoding
from apiserver.endpoints.encodings.cbor import CborEncoding
from apiserver.endpoints.encodings.json import JsonEncoding
from apiserver.endpoints.encodings.protobuf import ProtobufEncoding
from apiserver.endpoints.encodings.yaml import YamlEncoding

_ALL: tuple[Encoding, ...] = (JsonEncoding(), YamlEncoding(), ProtobufEncoding(), CborEncoding())
BY_MEDIA_TYPE: dict[str, Encoding] = {encoding.media_type: encoding for encoding in _ALL}
"""Whatever `apiserver.codec.negotiate` settles on is a key."""
