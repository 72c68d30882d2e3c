"""Schemas of custom resources: found by the hash of their JSON, so that equal definitions of all
tenants share one, and compiled at their first use. A schema is kept for as long as a served
resource has it, and its text only until it is compiled.
"""

from __future__ import annotations

import hashlib
from collections import deque
from threading import Lock
from weakref import WeakValueDictionary

import orjson

from apiserver.meta.objects import Object
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema

_RECENT = 32
"""Schemas that are kept without a resource: of definitions that are being validated, and are about
to be served."""


class Source:
    """One openAPIV3Schema. digest: of its JSON; equal schemas are one Source. unused: bytes of its
    text while nobody has used it, 0 once `prepare` has been called."""

    __slots__ = ("__weakref__", "_text", "_tree", "digest", "unused")

    def __init__(self, digest: bytes, text: bytes) -> None:
        self.digest = digest
        self._text = text
        self._tree: Schema | None = None
        self.unused = len(text)

    @property
    def schema(self) -> Schema:
        """The schema tree."""
        text, tree = self._text, self._tree  # in this order: the text goes once the tree is there
        if tree is None:
            tree = structural(orjson.loads(text))
            with (
                _LOCK
            ):  # not while it is compiled: the event loop would wait for a thread that does
                self._tree = tree = self._tree or tree
                self._text = b""
        return tree

    def prepare(self) -> None:
        """Makes what reading an object needs, which takes seconds for a large schema."""
        apply_defaults(self.schema, {})
        self.unused = 0


_LOCK = Lock()  # large definitions are validated in threads
_sources: WeakValueDictionary[bytes, Source] = WeakValueDictionary()
_recent: deque[Source] = deque(maxlen=_RECENT)


def source(props: Object | None) -> Source:
    """Of an openAPIV3Schema; None stands for no schema at all."""
    text = orjson.dumps(props, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(text, digest_size=20).digest()
    with _LOCK:
        cached = _sources.get(digest)
        if cached is None:
            cached = _sources[digest] = Source(digest, text)
        if not _recent or _recent[-1] is not cached:
            _recent.append(cached)
    return cached


def compiled(props: Object | None) -> Schema:
    """The schema tree of an openAPIV3Schema."""
    return source(props).schema
