"""Bindings by their subjects: of many, only those are looked at that name the user or one of its
groups."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from apiserver.meta.objects import Object
from apiserver.user import User, split_service_account

FEW = 8
"""So many bindings are looked at one by one."""
MOST_INDEXES = 4096
"""That a process keeps, for all tenants and their namespaces."""


class Identity(NamedTuple):
    """A user as subjects are compared with it. account: (namespace, name) of a service account."""

    name: str
    groups: frozenset[str]
    account: tuple[str, str] | None

    @classmethod
    def of(cls, user: User) -> Identity:
        return cls(user.name, frozenset(user.groups), split_service_account(user.name))


class Bound(NamedTuple):
    """A binding of the user, and the first of its subjects that the user is."""

    binding: Object
    subject: Object


def subject_of(identity: Identity, binding: Object, namespace: str) -> Object | None:
    """The first subject of the binding that the user is. A ServiceAccount without a namespace means
    one in the binding's."""
    name, groups, account = identity
    subject: Object
    for subject in binding.get("subjects") or ():
        kind = subject.get("kind")
        if kind == "ServiceAccount":
            if (
                account is not None
                and (subject.get("namespace") or namespace, subject.get("name")) == account
            ):
                return subject
        elif (kind == "Group" and subject.get("name") in groups) or (
            kind == "User" and subject.get("name") == name
        ):
            return subject
    return None


def bound(bindings: Iterable[Object], identity: Identity, namespace: str) -> Iterator[Bound]:
    """Those of ``bindings``, all of one namespace ("": cluster-wide), that name the user."""
    for binding in bindings:
        subject = subject_of(identity, binding, namespace)
        if subject is not None:
            yield Bound(binding, subject)


_Key = tuple[str, str] | tuple[str, str, str]


class Index:
    """Where in a sequence of bindings each subject is named."""

    __slots__ = ("_bindings", "_namespace", "_places")

    def __init__(self, bindings: Sequence[Object], namespace: str) -> None:
        self._bindings, self._namespace = bindings, namespace
        places: dict[_Key, list[int]] = {}
        for place, binding in enumerate(bindings):
            for subject in binding.get("subjects") or ():
                key = _key(subject, namespace)
                of_subject = places.setdefault(key, [])
                if not of_subject or of_subject[-1] != place:
                    of_subject.append(place)
        self._places = places

    def bound(self, identity: Identity) -> Iterator[Bound]:
        """As `bound` of all of them, in the same order."""
        get, positions = self._places.get, set(self._places.get(("User", identity.name), ()))
        for group in identity.groups:
            positions.update(get(("Group", group), ()))
        if identity.account is not None:
            positions.update(get(("ServiceAccount", *identity.account), ()))
        return bound((self._bindings[p] for p in sorted(positions)), identity, self._namespace)


def _key(subject: Object, namespace: str) -> _Key:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind == "ServiceAccount":
        return kind, subject.get("namespace") or namespace, name
    return kind, name


class Indexes:
    """The indexes of a process, each for as long as its bindings are what they were: a reader gives
    the same sequence until one of them changes."""

    def __init__(self, most: int = MOST_INDEXES) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[Hashable, str], tuple[Sequence[Object], Index]] = (
            OrderedDict()
        )

    def __len__(self) -> int:
        return len(self._kept)

    def bound(
        self, tenant: Hashable, namespace: str, bindings: Sequence[Object], identity: Identity
    ) -> Iterator[Bound]:
        """Those of ``bindings``, all that the namespace of the tenant has, that name the user."""
        if len(bindings) <= FEW:
            return bound(bindings, identity, namespace)
        key = tenant, namespace
        kept = self._kept.get(key)
        if kept is None or kept[0] is not bindings:
            kept = self._kept[key] = bindings, Index(bindings, namespace)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return kept[1].bound(identity)

    def forget(self, tenant: Hashable) -> None:
        """Drops what is kept of the tenant."""
        for key in [key for key in self._kept if key[0] == tenant]:
            del self._kept[key]
