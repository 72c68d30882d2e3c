"""Content negotiation: which encoding and which transformation an Accept header asks for, and how a
body is encoded.

Source: k8s.io/apiserver ``endpoints/handlers/negotiation`` and munnerz/goautoneg. The order of
clauses follows goautoneg to the letter: it sorts with a comparison that is no proper order, so the
sorting method is part of the behaviour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import parse_qs

from apiserver.errors import NotAcceptable, UnsupportedMediaType
from apiserver.meta import features
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.values import value

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
CBOR = "application/cbor"
CBOR_SEQUENCE = "application/cbor-seq"
TEXT = "text/plain"

ALL = (JSON, YAML, PROTOBUF, CBOR)
DISCOVERY = (JSON, YAML, PROTOBUF)
CUSTOM = (JSON, YAML, CBOR)
PAGES = (JSON, YAML, TEXT, CBOR)
STREAMS = {JSON: f"{JSON};stream=watch", PROTOBUF: f"{PROTOBUF};stream=watch", CBOR: CBOR_SEQUENCE}

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_YAML = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"
BUILTIN_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_YAML, APPLY_CBOR)
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_YAML, APPLY_CBOR)

_META_VERSIONS = ("v1", "v1beta1")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WORD = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_CONTENT_TYPE = re.compile(
    rf'\s*{_WORD}/{_WORD}\s*(;\s*{_WORD}\s*=\s*({_WORD}|"([^"\\]|\\.)*")\s*)*;?\s*'
)
_HUMANS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of an Accept header, parameters without q."""

    type: str
    subtype: str
    q: float = 1.0
    params: tuple[tuple[str, str], ...] = ()


@value(frozen=True, slots=True)
class Accepted:
    """What the answer will be: media_type without parameters; convert: target of a transformation,
    as asked for (any member may be ""), or None; stream: "watch" when asked for; pretty: indented
    JSON; profile: of discovery."""

    media_type: str
    convert: GroupVersionKind | None = None
    stream: str = ""
    pretty: bool = False
    profile: str = ""

    @property
    def stream_type(self) -> str:
        """Content-Type of a watch in this encoding."""
        return self.media_type if self.media_type == JSON else STREAMS[self.media_type]


Allow = Callable[[str, GroupVersionKind | None], bool]
"""Whether an endpoint gives ``media_type`` with a transformation to the target (None: the object as
it is)."""


def allow_plain(media_type: str, target: GroupVersionKind | None) -> bool:
    """Errors, discovery documents and whatever else cannot be transformed."""
    return target is None


@lru_cache(maxsize=32)  # the same one each time, because answers are remembered by it
def allow_resource(standard: tuple[str, ...] = ALL, *, table: bool = True) -> Allow:
    """For resources. ``standard``: encodings of the object itself (`CUSTOM` for custom resources,
    which protobuf cannot carry)."""

    def allow(media_type: str, target: GroupVersionKind | None) -> bool:
        if target is None:
            return media_type in standard
        if target.group != "meta.k8s.io" or target.version not in _META_VERSIONS:
            return False
        if target.kind == "Table":
            return table and media_type in (JSON, YAML)
        return target.kind in ("PartialObjectMetadata", "PartialObjectMetadataList")

    return allow


def allow_page(*targets: GroupVersionKind) -> Allow:
    """For /flagz and /statusz: text for people, and the other encodings of one of the targets
    only."""

    def allow(media_type: str, target: GroupVersionKind | None) -> bool:
        return target is None if media_type == TEXT else target in targets

    return allow


def parse_accept(header: str) -> Sequence[Clause]:
    """The clauses of an Accept header, best first. Clauses without a subtype are dropped, but for a
    bare ``*``."""
    return _remembered(header) if len(header) <= _REMEMBERED else _parse(header)


def _parse(header: str) -> Sequence[Clause]:
    clauses = []
    for part in header.split(","):
        head, _, rest = part.strip(" ").partition(";")
        kind, slash, subtype = head.partition("/")
        kind = kind.strip(" ")
        if not slash or not subtype:
            if kind != "*":
                continue
            subtype = "*"
        elif "/" in subtype.rstrip("/") or subtype.endswith("//"):
            continue
        q, params = _parameters(rest)
        clauses.append(Clause(kind, subtype.partition("/")[0].strip(" "), q, params))
    return _sorted(clauses)


_REMEMBERED = 512
"""Characters: headers of attackers are not kept."""
_remembered = lru_cache(maxsize=256)(_parse)  # the few that clients in use send
_SHORT = 12
"""Clauses up to which Go sorts by insertion."""


def _parameters(rest: str) -> tuple[float, tuple[tuple[str, str], ...]]:
    q, params = 1.0, {}
    for parameter in rest.split(";"):
        token, _, value = parameter.partition("=")
        if not value or "=" in value.removesuffix("="):
            continue
        value = value.removesuffix("=")
        if token.strip(" ") == "q":
            q = float(value) if _NUMBER.fullmatch(value) else 0.0
        else:
            params[token.strip(" ")] = value.strip(" ")
    return q, tuple(params.items())


def _sorted(clauses: list[Clause]) -> list[Clause]:
    """Go's sort for short slices is insertion sort, whose result with goautoneg's comparison
    depends on that very method."""
    if len(clauses) > _SHORT:
        return sorted(clauses, key=lambda c: (-c.q, c.type == "*", c.subtype == "*"))
    for i in range(1, len(clauses)):
        j = i
        while j > 0 and _before(clauses[j], clauses[j - 1]):
            clauses[j], clauses[j - 1] = clauses[j - 1], clauses[j]
            j -= 1
    return clauses


def _before(a: Clause, b: Clause) -> bool:
    return a.q > b.q or (a.type != "*" and b.type == "*") or (a.subtype != "*" and b.subtype == "*")


def negotiate(
    accept: str, allow: Allow, supported: Sequence[str] = ALL, *, pretty: bool = False
) -> Accepted:
    """The encoding of an answer. ``pretty``: from `wants_pretty`. Raises NotAcceptable."""
    supported = _offered(supported)
    accepted = _first_match(accept, allow, supported)
    if accepted is None:
        raise not_acceptable(supported)
    if pretty and not accepted.pretty:
        return replace(accepted, pretty=True)
    return accepted


def negotiate_stream(accept: str, allow: Allow, supported: Sequence[str] = ALL) -> Accepted:
    """The encoding of a watch, which YAML cannot carry. Raises NotAcceptable; a type that no answer
    has is told all types, as by `negotiate`."""
    supported = _offered(supported)
    accepted = _first_match(accept, allow, supported)
    if accepted is None:
        raise not_acceptable(supported)
    if accepted.media_type not in STREAMS:
        raise not_acceptable([STREAMS[m] for m in supported if m in STREAMS])
    return accepted


def negotiate_error(
    accept: str, supported: Sequence[str] = ALL, *, pretty: bool = False
) -> Accepted:
    """The encoding of a Status; never fails: indented JSON is what remains."""
    accepted = _first_match(accept, allow_plain, _offered(supported))
    if accepted is None:
        return Accepted(JSON, pretty=True)
    return replace(accepted, pretty=accepted.pretty or pretty)


def not_acceptable(supported: Sequence[str]) -> NotAcceptable:
    return NotAcceptable(f"only the following media types are accepted: {', '.join(supported)}")


def check_route(accept: str, *, lists: bool = False, supported: Sequence[str] = ALL) -> None:
    """What the router in front of built-in resources (and discovery) refuses before any
    negotiation; custom resources have none.

    It compares types without parameters and knows no wildcard but ``*/*``. ``lists``: the path also
    lists and watches. Raises NotAcceptable."""
    if not accept or (accept == JSON and JSON in supported):
        return
    supported = _offered(supported)
    produced = [*supported]
    if lists:
        produced += [STREAMS[m] for m in supported if m in STREAMS]
    asked = [part.partition(";")[0].strip(" ") for part in (accept or "*/*").split(",")]
    if any(a == "*/*" or a in produced for a in asked):
        return
    raise NotAcceptable(
        f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}", details={}
    )


def _offered(supported: Sequence[str]) -> Sequence[str]:
    """Without CBOR where its feature gate is off."""
    if features.ENABLED["CBORServingAndStorage"]:  # asked for every request
        return supported
    return [m for m in supported if "cbor" not in m]


def _first_match(accept: str, allow: Allow, supported: Sequence[str]) -> Accepted | None:
    if len(accept) > _REMEMBERED:
        return _match(accept, allow, supported)
    return _matched(accept, allow, tuple(supported))


def _match(accept: str, allow: Allow, supported: Sequence[str]) -> Accepted | None:
    if not accept or (accept == supported[0] and allow(accept, None)):
        return Accepted(supported[0])
    for clause in parse_accept(accept):
        for media_type in supported:
            kind, _, subtype = media_type.partition("/")
            if (
                clause.type == kind and clause.subtype in (subtype, "*")
            ) or clause.type == clause.subtype == "*":
                options = _options(clause, media_type, allow)
                if options is not None:
                    return options
    return None


_matched = lru_cache(maxsize=256)(_match)


def _options(clause: Clause, media_type: str, allow: Allow) -> Accepted | None:
    params = dict(clause.params)
    target = None
    if params.keys() & {"as", "g", "v"}:
        target = GroupVersionKind(params.get("g", ""), params.get("v", ""), params.get("as", ""))
    stream = params.get("stream", "")
    if stream and (media_type not in STREAMS or stream != "watch"):
        return None
    if params.get("sv", "v1") not in ("", "v1") or not allow(media_type, target):
        return None
    return Accepted(
        media_type, target, stream, params.get("pretty") == "1", params.get("profile", "")
    )


def wants_pretty(query: str, user_agent: str) -> bool:
    """``?pretty=`` decides; without it, people's clients (curl, wget, browsers) get indented
    JSON."""
    if "pretty" in query:
        value = parse_qs(query, keep_blank_values=True).get("pretty", [""])[0]
        if value:
            return value in _TRUE
    return user_agent.startswith(_HUMANS)


def body_type(content_type: str, supported: Sequence[str] = ALL) -> str:
    """Media type of a request's body; "" means JSON; malformed parameters are refused as Go's mime
    package does.

    Raises UnsupportedMediaType."""
    supported = _offered(supported)
    if not content_type:
        return supported[0]
    if content_type in supported:
        return content_type
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in supported and _CONTENT_TYPE.fullmatch(content_type):
        return media_type
    raise unsupported_media_type(supported)


def patch_type(
    content_type: str, supported: Sequence[str] = BUILTIN_PATCHES, *, routed: bool = True
) -> str:
    """Media type of a patch. ``routed``: the router refuses what no route consumes, otherwise the
    handler does: the texts differ. Raises UnsupportedMediaType."""
    supported = _offered(supported)
    media_type = content_type.partition(";")[0]
    if media_type.strip() in supported and (routed or media_type in supported):
        return media_type.strip()
    if not routed:
        raise unsupported_media_type(supported)
    raise UnsupportedMediaType("415: Unsupported Media Type", details={})


def unsupported_media_type(supported: Sequence[str]) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(supported)}"
    )
