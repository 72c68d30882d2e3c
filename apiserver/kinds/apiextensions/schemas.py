"""Schemas of custom resources: found by the hash of their JSON, so that equal definitions of all tenants share one, and compiled at their
first use. A schema is kept for as long as a served resource has it, and its text only until it is compiled.
"""

from __future__ import annotations

import hashlib
from collections import deque
from threading import Lock
from weakref import WeakValueDictionary

import orjson

from apiserver.kinds.base import Object
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema

_RECENT = 32
"""Schemas that are kept without a resource: of definitions that are being validated, and are about to be served."""


class Source:
    """One openAPIV3Schema. digest: of its JSON; equal schemas are one Source."""

    __slots__ = ("__weakref__", "_text", "_tree", "digest")

    def __init__(self, digest: bytes, text: bytes) -> None:
        self.digest = digest
        self._text = text
        self._tree: Schema | None = None

    @property
    def schema(self) -> Schema:
        """The schema tree."""
        if self._tree is None:
            with _LOCK:
                if self._tree is None:
                    self._tree = structural(orjson.loads(self._text))
                    self._text = b""
        return self._tree


_LOCK = Lock()  # large definitions are validated in threads
_found: WeakValueDictionary[bytes, Source] = WeakValueDictionary()
_recent: deque[Source] = deque(maxlen=_RECENT)


def source(props: Object | None) -> Source:
    """Of an openAPIV3Schema; None stands for no schema at all."""
    text = orjson.dumps(props, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(text, digest_size=20).digest()
    with _LOCK:
        found = _found.get(digest)
        if found is None:
            found = _found[digest] = Source(digest, text)
        if not _recent or _recent[-1] is not found:
            _recent.append(found)
    return found


def compiled(props: Object | None) -> Schema:
    """The schema tree of an openAPIV3Schema."""
    return source(props).schema
