"""Compiled schemas, shared by equal definitions of all tenants: found by the hash of their JSON, forgotten when long unused."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import orjson

from apiserver.kinds.base import Object
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema

_KEPT = 1024
_found: OrderedDict[bytes, Schema] = OrderedDict()


def compiled(props: Object | None) -> Schema:
    """The schema tree of an openAPIV3Schema; None stands for no schema at all."""
    key = hashlib.blake2b(orjson.dumps(props, option=orjson.OPT_SORT_KEYS), digest_size=20).digest()
    schema = _found.get(key)
    if schema is None:
        schema = _found[key] = structural(props)
        if len(_found) > _KEPT:
            _found.popitem(last=False)
    else:
        _found.move_to_end(key)
    return schema
