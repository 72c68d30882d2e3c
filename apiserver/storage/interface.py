"""The contract of storage. Implementations stay quiet; what they must hold is said here and checked
by tests/storage.

Every method takes the tenant's number (``tenancy.Tenant.id``); nothing crosses tenants. Errors:
apiserver.storage.errors only. Objects are JSON text in UTF-8 that begins
``{"kind":...,"apiVersion":...,"metadata":{`` and holds no metadata.resourceVersion: that is the
record's own column and is put in by `Record.json`, because it is not known before the write
transaction draws it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import orjson

from apiserver.meta.gvk import GroupResource
from apiserver.meta.values import value

if TYPE_CHECKING:
    from apiserver.storage.fields import Fields
    from apiserver.storage.history import History
    from apiserver.storage.search import Search
    from apiserver.storage.tally import Tallies


class ObjectKey(NamedTuple):
    """namespace "" for cluster-scoped objects."""

    group: str
    resource: str
    namespace: str
    name: str

    @property
    def group_resource(self) -> GroupResource:
        return tuple.__new__(GroupResource, self[:2])


def storable(text: str) -> str:
    """A text that somebody asks for, with what PostgreSQL's text cannot hold replaced by what no
    stored name has: it is asked for, and not found."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def key_order(namespace: str, name: str) -> tuple[str, str]:
    """The sort key of an object among its resource: namespace + "/", then name, in byte order, as
    etcd's keys sort ("a-b" before "a")."""
    return namespace + "/", name


_METADATA = b'"metadata":{'
_CREATED = re.compile(
    rb'\{"kind":"[^"\\]*","apiVersion":"[^"\\]*","metadata":\{'
    rb'(?:"(?:resourceVersion|name|generateName|namespace|selfLink|uid)":"[^"\\]*",'
    rb'|"generation":\d+,)*"creationTimestamp":"([^"\\]*)"'
)
"""A stored object from its first byte on."""


def splice_resource_version(data: bytes, resource_version: int) -> bytes:
    """The object's JSON with its resourceVersion put first into metadata."""
    at = data.index(_METADATA) + len(_METADATA)
    comma = b"" if data[at : at + 1] == b"}" else b","
    return b'%b"resourceVersion":"%d"%b%b' % (data[:at], resource_version, comma, data[at:])


def without_resource_version(json: bytes, resource_version: int) -> bytes:
    """What splice_resource_version was given."""
    at = json.index(_METADATA) + len(_METADATA)
    own = b'"resourceVersion":"%d"' % resource_version
    assert json.startswith(own, at), "not as splice_resource_version makes it"
    end = at + len(own)
    return json[:at] + json[end + (json[end : end + 1] == b",") :]


_API_VERSION = b'"apiVersion":"'


def stored_api_version(json: bytes) -> str:
    """The apiVersion in which an object is stored, from its text."""
    at = json.index(_API_VERSION) + len(_API_VERSION)
    return json[at : json.index(b'"', at)].decode()


def stored_creation(json: bytes) -> str | None:
    """The metadata.creationTimestamp of a stored object, from its text; shared by all that have the
    same."""
    found = _CREATED.match(json)
    if found is not None:
        return sys.intern(found[1].decode())
    created: str | None = orjson.loads(json)["metadata"].get("creationTimestamp")
    return created


@value(frozen=True, slots=True)
class Record:
    """One object at one resourceVersion; ``data`` without that version."""

    key: ObjectKey
    uid: str
    resource_version: int
    data: bytes

    @property
    def json(self) -> bytes:
        return splice_resource_version(self.data, self.resource_version)


class Entry(NamedTuple):
    """What the audit log keeps of one write, or of a request that made none. user, verb, code: of
    ``data``, an audit.k8s.io/v1 Event as JSON text without the resourceVersion, which the row has
    (sql/audit_tables.sql)."""

    user: str
    verb: str
    code: int
    data: bytes


EventType = Literal["ADDED", "MODIFIED", "DELETED"]


@value(frozen=True, slots=True)
class Event:
    """One entry of the log. previous: the tenant's resourceVersion before this one: the chain.
    key_previous: resourceVersion of the key's event before this one, 0 for ADDED. A DELETED event
    carries the object's last state. old: what the record replaced, where the reader asked for
    it."""

    type: EventType
    record: Record
    previous: int
    key_previous: int
    old: Record | None = None


@dataclass(slots=True)
class Write:
    """One conditional write. create: the key must be absent. update, delete: the stored
    resourceVersion must equal ``expected`` (``data`` of a delete is the final state that watchers
    see). claims: values that no other object of the tenant may hold, such as a cluster IP; they are
    free again when the object goes or claims others. needs (of a create or an update): uid of an
    object of the tenant that must be there and not be marked for deletion. audit: the entry that it
    leaves in the audit log once it is done; None: one that says that the server did it, and why
    (cause), and which part of the object it was about (subresource); QUIET: none. The columns are
    what SQL users, quotas and garbage collection filter by."""

    operation: Literal["create", "update", "delete"]
    key: ObjectKey
    uid: str
    data: bytes
    expected: int = 0
    owner_uids: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    claims: tuple[str, ...] = ()
    needs: str = ""
    audit: Entry | None = None
    cause: str = ""
    subresource: str = ""


QUIET = Entry("", "", 0, b"")
"""Of a write that the audit policy wants no entry of."""


class Page(NamedTuple):
    """records in key order; at: the resourceVersion that they are the state of; more: whether keys
    remain; remaining: how many."""

    records: Sequence[Record]
    at: int
    more: bool
    remaining: int


class EventPage(NamedTuple):
    """A part of the log: all events (of the resource asked for) above ``after`` up to and including
    ``through``. The log has been read to its end when through did not grow."""

    events: Sequence[Event]
    through: int


class Head(NamedTuple):
    """head: the last committed resourceVersion; floor: the oldest whose state and later events can
    be read."""

    head: int
    floor: int


Observer = Callable[[int, Sequence[Event]], None]
Listener = Callable[[int, int], None]


class Reader(Protocol):
    @property
    def history(self) -> History:
        """The log looked at backwards."""

    @property
    def search(self) -> Search:
        """The objects by the words in them."""

    @property
    def fields(self) -> Fields:
        """The objects by the values of declared fields."""

    @property
    def tallies(self) -> Tallies:
        """How many objects there are."""

    async def head(self, tenant: int) -> int:
        """The tenant's last committed resourceVersion, not older than the call. Readers that wait
        at one moment share one query."""

    async def bounds(self, tenant: int) -> Head:
        """Between which versions the state and the events can be read, not older than the call: as
        `head`, by the same query."""

    async def heads(self, tenants: list[int]) -> dict[int, Head]:
        """Of many tenants in one query; those that are gone are left out."""

    async def get(self, tenant: int, key: ObjectKey) -> Record | None:
        """The current state, from the database."""

    async def records(self, tenant: int, uids: Sequence[str]) -> Sequence[Record]:
        """The current state of those objects that are there, from the database, in no order."""

    async def dependent_places(
        self, tenant: int, uid: str, *, limit: int
    ) -> Sequence[tuple[GroupResource, str]]:
        """The resources and namespaces of the objects with an owner reference to ``uid`` (any
        text), in order."""

    async def dependents(
        self, tenant: int, uid: str, places: Sequence[tuple[GroupResource, str]], *, limit: int
    ) -> Sequence[Record]:
        """The current state of those objects, in these places, by their keys."""

    async def is_first(self, tenant: int, resource_version: int) -> bool:
        """Whether an object was created at that version, which is its present one."""

    async def list(
        self,
        tenant: int,
        resource: GroupResource,
        *,
        namespace: str = "",
        at: int = 0,
        after: tuple[str, str] | None = None,
        limit: int = 0,
    ) -> Page:
        """Records in key order (`key_order`). at 0: now, head and records from one snapshot.
        Otherwise exactly the state at that resourceVersion: Compacted below the floor, TooLarge
        above the head. after: (namespace, name) that the last page ended with."""

    async def first(
        self, tenant: int, resource: GroupResource, *, namespace: str = "", limit: int
    ) -> Page:
        """As `list` of now, sooner where there are very many."""

    def snapshot(
        self, tenant: int, resource: GroupResource
    ) -> AsyncGenerator[tuple[int, Sequence[Record]], None]:
        """(head, batch of records) of one snapshot, in key order, streamed; at least one item,
        possibly with no records."""

    async def events(
        self,
        tenant: int,
        after: int,
        *,
        resource: GroupResource | None = None,
        with_old: bool = False,
        limit: int = 1000,
        max_bytes: int = 0,
    ) -> EventPage:
        """The next ``limit`` entries of the log above ``after``, in order, of which those of the
        resource come back; none after the first with which they have ``max_bytes`` of data together
        (0: as many as they have). Raises Compacted when ``after`` is below the floor, ChainBroken
        when an entry is missing."""

    async def counts(self, tenant: int | None = None) -> Mapping[GroupResource, int]:
        """How many objects of each resource are stored, of one tenant or of all. Reads the keys of
        all of them: not for every second."""

    async def size(self) -> int:
        """Bytes of the whole database on its disk. Looks at every file that it has: not for every
        second."""


class Store(Reader, Protocol):
    async def write(self, tenant: int, write: Write) -> int:
        """Commits and returns the new resourceVersion; batched with other writes of the tenant in
        this process.

        Raises KeyExists, KeyMissing, Claimed, NeedMissing, Stale (with the current
        resourceVersion), QuotaExceeded, RateExceeded, ObjectTooLarge, TenantGone, InvalidText,
        Unavailable (its ``unknown`` says whether the write may have been committed nevertheless;
        that is looked up first)."""

    async def rehearse(self, tenant: int, write: Write) -> None:
        """Raises what `write` would for the tenant's limits as they are now and for the object's
        size and text: QuotaExceeded, RateExceeded, ObjectTooLarge, InvalidText, TenantGone,
        Unavailable. Locks and writes nothing, and does not look whether the precondition holds."""

    def observe(self, observer: Observer) -> None:
        """``observer(tenant, events)`` is called, in the event loop, with all that this process
        commits, in the order of the log and before the writers get their answers."""

    def listen(self, listener: Listener) -> None:
        """``listener(tenant, resource_version)`` is called, in the event loop, when some process
        committed. A hint: it may be lost, late, repeated, or about this process's own writes."""
