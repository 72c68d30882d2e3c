"""Attributes: what an admission plugin sees of a request (k8s.io/apiserver
``admission.Attributes``)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from apiserver.authz import attributes as authz
from apiserver.fieldmanager.types import Type
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.labels import LabelSelector
from apiserver.meta.objects import Object
from apiserver.user import User

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Equivalent(NamedTuple):
    """A resource by which a policy or a webhook may know the request's objects, and their kind
    there (of the subresource, where the request is about one)."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class Served(NamedTuple):
    """Where objects of a kind are. storage: as `Lookup.get` wants it."""

    resource: GroupVersionResource
    kind: GroupVersionKind
    storage: GroupResource
    namespaced: bool


T = TypeVar("T")


class Lookup(Protocol):
    """Reads objects of the request's tenant, in their storage version; what it returns must not be
    changed."""

    async def decide(self, question: authz.Attributes) -> authz.Decision:
        """Whether somebody may do something in the tenant."""

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        """One object; ``fresh`` asks the database instead of a cache that may lag by a moment."""

    async def related(self, node: str, resource: GroupResource, namespace: str, name: str) -> bool:
        """Whether the object belongs to the node, or to a pod that is bound to it."""

    async def settled(self, resource: GroupResource, seconds: float) -> Sequence[Object]:
        """As `list`, without the changes that came to this process in the last ``seconds``."""

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        """All objects of a resource, of one namespace or (namespace "") of all. The sequence is the
        same one until an object changes."""

    async def first(
        self, resource: GroupResource, namespace: str, most: int
    ) -> tuple[Sequence[Object], int]:
        """Up to ``most`` of `list`, in key order, and how many there are. Others may use the loop
        meanwhile."""

    async def select(
        self, resource: GroupResource, namespace: str, selector: LabelSelector, most: int
    ) -> Sequence[Object]:
        """Those of `list` that the selector selects, up to ``most`` of them. Raises what `run`
        does."""

    def kind(self, kind: GroupVersionKind) -> Served | None:
        """None for a kind that the tenant does not have in that version."""

    def resources(self) -> Mapping[str, Sequence[str]]:
        """Names of all that the tenant serves, by API group (`apiserver.kinds.served.names`)."""

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        """All resources, ``resource`` among them, that serve the same objects with that subresource
        ("": themselves), in order of preference."""

    async def convert(self, obj: Object, resource: GroupVersionResource, to: Equivalent) -> Object:
        """``obj``, of ``resource``, as ``to`` has it; may be ``obj`` itself, which stays as it is.
        Raises ConversionFailed."""

    def decode(self, obj: Object, to: Equivalent) -> tuple[Object, Sequence[str]]:
        """An object that admission has made, decoded and defaulted, perhaps in place, and its
        unknown fields where a Go type holds it. Raises DecodeError."""

    def type_of(self, to: Equivalent) -> Type:
        """What such objects are to server-side apply."""

    async def run(self, work: Callable[[], T]) -> T:
        """What ``work`` returns or raises; it may take long. It is pure: on the event loop it is
        broken off after some milliseconds and begun anew in a thread. Raises TooManyRequests,
        TimedOut, ClientGone."""


class Bounds:
    """What the request that is admitted allows those who decide about it; this one allows
    everything."""

    @property
    def seconds_left(self) -> float:
        """Until the request's own deadline."""
        return math.inf

    async def within(self, work: Coroutine[Any, Any, T]) -> T:
        """What ``work`` returns or raises. Raises TimedOut at the deadline, and ClientGone when
        nobody waits for the answer any more; ``work`` is cancelled then."""
        return await work

    async def by_size(self, size: int, work: Callable[[], T]) -> T:
        """What ``work``, which is about ``size`` bytes, returns or raises; beside the event loop
        where it takes long."""
        return work()


UNBOUNDED = Bounds()


Authorize = Callable[[Lookup, authz.Attributes], Awaitable[authz.Decision]]
"""Answers a question from the roles and bindings of the tenant whose objects the Lookup reads."""


@dataclass(slots=True)
class Reinvocation:
    """Of one run of mutating admission (upstream's ReinvocationContext). A plugin that obeys
    policies or webhooks sets ``requested`` when one of them changed the object; `Chain.admit` then
    runs all plugins once more, with ``again``. What a plugin remembers between the two runs
    (which policies to ask again) it keeps in ``values`` under its own name."""

    again: bool = False
    requested: bool = False
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Attributes:
    """object: the new state (None for DELETE); old: the stored state (None for CREATE); both in the
    request's version.

    Mutating plugins change ``object``, in place or by setting another one. warnings: texts for
    Warning headers; audit: what policies and webhooks tell the audit log (`annotate`), delays: for
    how many seconds webhooks have kept the request (`apiserver.audit.latencies`);
    reinvocation: of the mutating run at hand; charged: whether a quota of the namespace was charged
    for the write."""

    tenant: int
    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str
    namespace: str
    name: str
    object: Object | None
    old: Object | None
    user: User
    dry_run: bool = False
    options: Object = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    namespaced: bool = True
    audit: dict[str, str] = field(default_factory=dict)
    delays: dict[str, float] = field(default_factory=dict)
    reinvocation: Reinvocation = field(default_factory=Reinvocation)
    bounds: Bounds = UNBOUNDED
    charged: bool = False

    group_resource: GroupResource = field(init=False)
    """Of ``resource``; every plugin asks for it."""

    def __post_init__(self) -> None:
        self.group_resource = GroupResource(self.resource.group, self.resource.resource)

    def warn(self, text: str) -> None:
        """One more Warning header; the same text is sent once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def annotate(self, key: str, value: str) -> None:
        """One annotation of the audit event; the first value of a key stays."""
        self.audit.setdefault(key, value)
