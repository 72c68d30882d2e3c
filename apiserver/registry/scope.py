"""Scope: what one operation on one resource is about, put together once by the endpoint and never
changed afterwards."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from apiserver.audit.trail import Trail
from apiserver.codec import strict
from apiserver.errors import ApiError, BadRequest
from apiserver.flow.lines import Place
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import WriteContext
from apiserver.kinds.served import Resource, ServedVersion
from apiserver.meta.gvk import GroupKind, GroupVersionKind
from apiserver.meta.names import path_segment
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.meta.values import value
from apiserver.registry.offload import Asker, Meter
from apiserver.schema.decode_errors import Empty
from apiserver.schema.types import Schema
from apiserver.storage.interface import ObjectKey
from apiserver.user import User


class Tenant(NamedTuple):
    """id: number of its row, 0 for none."""

    id: int
    name: str


NO_TENANT = Tenant(0, "")
"""Where requests are served that have to do with no tenant."""


MOST_SECONDS = 34.0
"""What a write may take, from its beginning."""
MOST_SECONDS_OF_MANY = 60.0
"""The same for the deletion of a collection."""


def _now() -> datetime:
    return datetime.now(UTC)


def _deadline() -> float:
    return time.monotonic() + MOST_SECONDS


@value(frozen=True, slots=True)
class Scope:
    """namespace, name: "" where the URL has none. gone, place: as in
    `apiserver.registry.offload.Asker`.

    warnings, warned, empties and meter are what the operation writes to on its way: texts for
    Warning headers, the same as a set (one object may give reason for many thousands), what the
    object it decoded last had of empty lists and maps that decoding leaves out, and what it has
    cost. Scopes that one is `dataclasses.replace`d by share them with it. until: monotonic time by
    which whoever decides about a write must have decided. trail: what the audit log is told of the
    request, None where the server itself acts. cause: why it does."""

    tenant: Tenant
    resource: Resource
    served: ServedVersion
    user: User
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    gone: Callable[[], Awaitable[None]] | None = None
    place: Place | None = None
    warnings: list[str] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)
    empties: list[Empty] = field(default_factory=list)
    meter: Meter = field(default_factory=Meter)
    now: datetime = field(default_factory=_now)
    until: float = field(default_factory=_deadline)
    trail: Trail | None = None
    cause: str = ""

    @property
    def version(self) -> str:
        return self.served.version

    @property
    def gvk(self) -> GroupVersionKind:
        return self.resource.gvk(self.served.version)

    @property
    def schema(self) -> Schema:
        return self.served.schema

    def kind_of(self, obj: ReadOnlyObject) -> GroupKind:
        """What an invalid object is called in errors."""
        return self.resource.kind_of(obj)

    def decode(self, value: Any) -> tuple[Object, list[str]]:
        """An object of the resource's kind decoded and defaulted; the second value lists unknown
        fields. Raises DecodeError."""
        return self.resource.decode(self.served, value, self.empties)

    def key(self, name: str = "") -> ObjectKey:
        """Where the object is kept. Raises BadRequest for a request that lacks the namespace, or
        names what no object can be called (k8s.io/apiserver ``registry/generic/registry``)."""
        if self.resource.namespaced and not self.namespace:
            raise BadRequest("Namespace parameter required.")
        if problems := path_segment(name or self.name):
            quoted = go_quote(name or self.name)
            raise BadRequest(f"Name parameter invalid: {quoted}: {';'.join(problems)}")
        storage = self.resource.storage
        return ObjectKey(storage.group, storage.resource, self.namespace, name or self.name)

    def warn(self, text: str) -> None:
        if text not in self.warned and len(self.warnings) < strict.MOST_WARNINGS:
            self.warned.add(text)
            self.warnings.append(text)

    def report(
        self, problems: Sequence[str], field_validation: str, refusal: Callable[[], ApiError]
    ) -> None:
        """What a strict reader would not have taken, as the client wants to hear of it: not at all
        under Ignore, in Warning headers under Warn ("" is Warn); under Strict raises
        ``refusal``."""
        level = strict.directive(field_validation)
        if not problems or level == strict.IGNORE:
            return
        if level == strict.STRICT:
            raise refusal()
        for text in strict.warnings_of(problems):
            self.warn(text)

    def asker(self, size: int) -> Asker:
        """Who asks for a step of the operation that is about ``size`` bytes."""
        return Asker(self.tenant, size, self.gone, self.meter, self.place)

    def context(self, *, dry_run: bool = False, field_manager: str = "") -> WriteContext:
        return WriteContext(
            version=self.version,
            now=self.now,
            subresource=self.subresource,
            user=self.user.name,
            groups=self.user.groups,
            user_uid=self.user.uid,
            user_extra=self.user.extra,
            dry_run=dry_run,
            field_manager=field_manager,
            empties=self.empties,
            warn=self.warn,
        )
