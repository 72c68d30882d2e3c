"""The board on which the workers of one machine tell each other that something changed which
decides about requests.

A worker answers its own writes' consequences at once, but hears of another worker's through the
database, some milliseconds later: a client that deletes a namespace, writes a role or sets a quota,
and whose next request another worker gets, would be answered by the state before. So who commits
such a change writes its version here before the client is answered, and every request first waits
until what the board says has been applied. The board is memory that `up` shares with its workers;
across machines, and where a slot is lost to another tenant, the hints of the database are all there
is (`apiserver.storage.hints`).
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Iterable

from apiserver.authz import lastmodes
from apiserver.flow import buckets, shares
from apiserver.meta.gvk import GroupResource

_SLOT = struct.Struct("=QQQ")
"""tenant, version, and both of them mixed, which tells a slot that is being written from one that
is whole."""
_SLOTS = 4096
SIZE = _SLOT.size * _SLOTS
SHARES_AT = SIZE
LAST_MODES_AT = SHARES_AT + shares.SIZE
BUCKETS_AT = LAST_MODES_AT + lastmodes.SIZE
FILE_SIZE = BUCKETS_AT + buckets.SIZE
"""Of the file that workers share: the board, what they count together, which impersonation they
last allowed, and the buckets that limit events."""
_MIX = 0x9E3779B97F4A7C15
_LOOKS = 8
"""At a slot that is being written, until it is taken for one that says nothing."""

_GROUPS = frozenset(
    {"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io"}
)
_CORE = frozenset({"namespaces", "serviceaccounts", "resourcequotas", "limitranges"})
_CLASSES = frozenset({"priorityclasses", "storageclasses", "ingressclasses", "runtimeclasses"})


def decides(resource: GroupResource) -> bool:
    """Whether authorization, admission or the choice of a resource look at such objects."""
    return resource.group in _GROUPS or resource.resource in (_CLASSES if resource.group else _CORE)


class Board:
    """``fd``: of a file of SIZE bytes or more, zeros at first."""

    def __init__(self, fd: int) -> None:
        self._fd = os.dup(fd)
        self._memory = mmap.mmap(fd, SIZE)

    @classmethod
    def inherited(cls, shared: int | None) -> Board | None:
        """``shared``: what `shared_file` found."""
        return None if shared is None else cls(shared)

    def tell(self, tenant: int, version: int) -> None:
        """One process at a time compares and writes a slot, so that what it says of a tenant never
        goes back. The lock ends with a process that dies; nobody waits while it is held."""
        at = self._at(tenant)
        fcntl.lockf(self._fd, fcntl.LOCK_EX, _SLOT.size, at)
        try:
            if version > self.told(tenant):
                self._memory[at : at + _SLOT.size] = _SLOT.pack(
                    tenant, version, tenant ^ version ^ _MIX
                )  # at one go
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, _SLOT.size, at)

    def told(self, tenant: int) -> int:
        """The latest version told of the tenant, 0 where nothing was."""
        at = self._at(tenant)
        for _ in range(_LOOKS):
            owner, version, mixed = _SLOT.unpack(self._memory[at : at + _SLOT.size])
            if mixed == owner ^ version ^ _MIX:
                return version if owner == tenant else 0
            if not mixed:
                return 0  # nobody has written here yet
        return 0

    def close(self) -> None:
        self._memory.close()
        os.close(self._fd)

    def _at(self, tenant: int) -> int:
        return tenant % _SLOTS * _SLOT.size


def shared_file(fd: str) -> int | None:
    """The descriptor of the file that `up` shares with its workers. ``fd``: as text, "" for none.
    None too where it is another file: a process further down has the name, and not the file."""
    try:
        return int(fd) if fd and os.fstat(int(fd)).st_size == FILE_SIZE else None
    except (OSError, ValueError):
        return None


def last_deciding(changes: Iterable[tuple[GroupResource, int]]) -> int:
    """The version of the last change that decides about requests; 0 for none. ``changes``: in
    order."""
    return max((version for resource, version in changes if decides(resource)), default=0)
