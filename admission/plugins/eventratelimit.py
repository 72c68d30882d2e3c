"""EventRateLimit: how many events may be written in a second, by tenant, namespace, user, or source
and object (kubernetes ``plugin/pkg/admission/eventratelimit``).

A bucket belongs to one tenant, also that of type Server: a tenant's events are limited as if it had
a server of its own, and none of them counts for a neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from admission.attributes import Attributes, Lookup
from admission.config import Section
from admission.objects import WRITES
from apiserver.errors import TooManyRequests
from apiserver.flow.buckets import Buckets
from apiserver.meta.gvk import GroupKind

_EVENT = GroupKind("", "Event")


@dataclass(frozen=True, slots=True)
class Limit:
    """qps: events in a second; burst: events at once."""

    type: str
    qps: int
    burst: int

    @classmethod
    def read(cls, section: Section) -> Limit:
        """Raises ConfigError."""
        kind = section.text("type")
        if kind not in _KEYS:
            raise section.wrong("type", f"must be one of {', '.join(_KEYS)}")
        limit = cls(kind, section.integer("qps") or 0, section.integer("burst") or 0)
        for name, value in (("burst", limit.burst), ("qps", limit.qps)):
            if value <= 0:
                raise section.wrong(name, "must be positive")
        if (section.integer("cacheSize") or 0) < 0:  # how many there are is said by Buckets
            raise section.wrong("cacheSize", "must not be negative")
        section.end()
        return limit


def read(section: Section) -> Sequence[Limit]:
    """``section``: a Configuration of eventratelimit.admission.k8s.io. Raises ConfigError."""
    section.of_kind("eventratelimit.admission.k8s.io", ["v1alpha1"], "Configuration")
    limits = tuple(map(Limit.read, section.sections("limits")))
    if not limits:
        raise section.wrong("limits", "must not be empty")
    section.end()
    return limits


class EventRateLimit:
    name = "EventRateLimit"

    def __init__(self, limits: Sequence[Limit] = (), buckets: Buckets | None = None) -> None:
        self._limits, self._buckets = limits, buckets or Buckets()

    def handles(self, attributes: Attributes) -> bool:
        return attributes.kind.group_kind == _EVENT and attributes.operation in WRITES

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Every limit counts the event, and the last that is reached is told."""
        refusal: TooManyRequests | None = None
        for index, limit in enumerate(self._limits):
            key = _KEYS[limit.type](attributes)
            bucket = f"{index}/{attributes.tenant}/{key}"
            if not self._buckets.take(_KINDS[limit.type], bucket, limit.qps, limit.burst):
                why = f"limit reached on type {limit.type} for key {key}"
                refusal = TooManyRequests(f"Too many requests: {why}")
        if refusal is not None:
            refusal.details = None
            raise refusal


def _source_and_object(attributes: Attributes) -> str:
    event = attributes.object or {}
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    parts = [source.get("component"), source.get("host")]
    parts += [about.get(m) for m in ("kind", "namespace", "name", "uid", "apiVersion")]
    return "".join(part or "" for part in parts)


_KEYS: Mapping[str, Callable[[Attributes], str]] = {
    "Server": lambda attributes: "",
    "Namespace": lambda attributes: attributes.namespace,
    "User": lambda attributes: attributes.user.name,
    "SourceAndObject": _source_and_object,
}
_KINDS = {kind: index for index, kind in enumerate(_KEYS)}
