"""Reads: get, list at a version, snapshot, events. All from the database; apiserver.watch keeps
what is read often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import psycopg

from apiserver.meta.gvk import GroupResource
from apiserver.storage import statements
from apiserver.storage.errors import ChainBroken, Compacted, TenantGone, TooLarge
from apiserver.storage.fields import Fields
from apiserver.storage.heads import Heads
from apiserver.storage.history import TYPES, History
from apiserver.storage.interface import (
    Event,
    EventPage,
    Head,
    ObjectKey,
    Page,
    Record,
    storable,
)
from apiserver.storage.pool import Connection, Database, Row, translate
from apiserver.storage.search import Search
from apiserver.storage.tally import Tallies
from apiserver.storage.transform import Identity, Transformer
from apiserver.storage.visibility import see


class PostgresReader:
    """interface.Reader over a Database."""

    def __init__(self, database: Database, transformer: Transformer | None = None) -> None:
        self.database = database
        self.transformer = transformer or Identity()
        self.history = History(database, self.transformer)
        self.search = Search(database, self.transformer)
        self.fields = Fields(database, self.transformer)
        self.tallies = Tallies(database)
        self._heads = Heads(database)
        self._snapshots = asyncio.Semaphore(
            max(database.size // 2, 1)
        )  # long readers leave connections to the others

    async def head(self, tenant: int) -> int:
        return (await self.bounds(tenant)).head

    async def bounds(self, tenant: int) -> Head:
        return await self._heads.of(tenant)

    async def heads(self, tenants: list[int]) -> dict[int, Head]:
        return await self._heads.of_all(tenants) if tenants else {}

    async def get(self, tenant: int, key: ObjectKey) -> Record | None:
        names = tuple(map(storable, key))
        rows = await self.database.read(
            lambda connection: statements.GET.rows(connection, tenant, *names)
        )
        if not rows:
            raise TenantGone(f"tenant {tenant} is gone")
        uid, version, data = rows[0]
        return self._record(tenant, key, uid, version, data) if version is not None else None

    async def records(self, tenant: int, uids: Sequence[str]) -> Sequence[Record]:
        parameters = {"tenant": tenant, "uids": list(uids)}
        rows = await self.database.rows_within(tenant, statements.BY_UID, parameters)
        return [self._record(tenant, ObjectKey(*row[:4]), *row[4:]) for row in rows]

    async def dependent_places(
        self, tenant: int, uid: str, *, limit: int
    ) -> Sequence[tuple[GroupResource, str]]:
        parameters = {"tenant": tenant, "uid": storable(uid), "limit": limit}
        rows = await self.database.rows_within(tenant, statements.DEPENDENT_PLACES, parameters)
        return [(GroupResource(*row[:2]), row[2]) for row in rows]

    async def dependents(
        self, tenant: int, uid: str, places: Sequence[tuple[GroupResource, str]], *, limit: int
    ) -> Sequence[Record]:
        parameters = {
            "tenant": tenant,
            "uid": storable(uid),
            "groups": [resource.group for resource, _ in places],
            "resources": [resource.resource for resource, _ in places],
            "namespaces": [namespace for _, namespace in places],
            "limit": limit,
        }
        rows = await self.database.rows_within(tenant, statements.DEPENDENTS, parameters)
        return [self._record(tenant, ObjectKey(*row[:4]), *row[4:]) for row in rows]

    async def is_first(self, tenant: int, resource_version: int) -> bool:
        parameters = {"tenant": tenant, "version": resource_version}
        rows = await self.database.rows_within(tenant, statements.TYPE_AT, parameters)
        return bool(rows) and rows[0][0] == "A"

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
        statement = statements.list_statement(
            past=at > 0, namespaced=bool(namespace), after=after is not None, limited=limit > 0
        )
        parameters: dict[str, Any] = {
            "tenant": tenant,
            "group": resource.group,
            "resource": resource.resource,
        }
        parameters |= {"namespace": storable(namespace), "at": at, "limit": limit}
        if after is not None:
            parameters |= {"after_namespace": storable(after[0]), "after_name": storable(after[1])}
        return await self._page(tenant, resource, statement, parameters)

    async def first(
        self, tenant: int, resource: GroupResource, *, namespace: str = "", limit: int
    ) -> Page:
        parameters = {
            "tenant": tenant,
            "group": resource.group,
            "resource": resource.resource,
            "namespace": storable(namespace),
            "at": 0,
            "limit": limit,
        }
        return await self._page(tenant, resource, statements.FIRST, parameters)

    async def _page(
        self, tenant: int, resource: GroupResource, statement: str, parameters: Mapping[str, Any]
    ) -> Page:
        rows = await self.database.rows_within(tenant, statement, parameters)
        if not rows:
            raise TenantGone(f"tenant {tenant} is gone")
        (head, floor, keys), at = rows[0][:3], parameters["at"]
        if at and at < floor:
            raise Compacted(floor)
        if at > head:
            raise TooLarge(head)
        records = [self._listed(tenant, resource, row[3:]) for row in rows if row[3] is not None]
        remaining = (keys or 0) - len(records)
        return Page(records, at or head, remaining > 0, remaining)

    async def snapshot(
        self, tenant: int, resource: GroupResource
    ) -> AsyncGenerator[tuple[int, Sequence[Record]], None]:
        """One REPEATABLE READ transaction; a connection that breaks in the middle is Unavailable,
        and the caller starts anew."""
        parameters = {"tenant": tenant, "group": resource.group, "resource": resource.resource}
        head = await self.head(
            tenant
        )  # waits for a database that is away; the value is read again below
        try:
            async with self._snapshots, self.database.connection() as connection:
                await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                try:
                    await see(connection, tenant)
                    head = await self._head_within(connection, tenant)
                    cursor = connection.cursor(
                        binary=True
                    )  # psycopg's named cursors need a statement to close
                    await cursor.execute(statements.SNAPSHOT, parameters)
                    while True:
                        rows = await (await cursor.execute(statements.SNAPSHOT_NEXT)).fetchall()
                        yield head, [self._listed(tenant, resource, row) for row in rows]
                        if len(rows) < statements.SNAPSHOT_BATCH:
                            break
                finally:
                    if not connection.broken:
                        await connection.execute("ROLLBACK")
        except psycopg.Error as error:
            raise translate(error) from error

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
        group, plural = resource or (None, None)
        parameters = tenant, after, limit, max_bytes or None, group, plural, with_old
        rows = await self.database.read(
            lambda connection: statements.EVENTS.rows(connection, *parameters)
        )
        if not rows:
            raise TenantGone(f"tenant {tenant} is gone")
        if after < rows[0][0]:
            raise Compacted(rows[0][0])
        if rows[0][1] is None:
            return EventPage([], after)
        for _, version, previous, prior, *_rest in rows:
            if (prior != previous) if prior is not None else (previous > after):
                raise ChainBroken(
                    tenant,
                    after if prior is None else prior,
                    previous if prior is None else version,
                )
        return EventPage([self._event(tenant, row) for row in rows if row[4]], rows[-1][1])

    async def counts(self, tenant: int | None = None) -> Mapping[GroupResource, int]:
        if tenant is None:
            rows = await self.database.rows_everywhere(statements.COUNTS, {})
        else:
            of = {"tenant": tenant}
            rows = await self.database.rows_within(tenant, statements.COUNTS_OF_TENANT, of)
        return {GroupResource(group, resource): count for group, resource, count in rows}

    async def size(self) -> int:
        rows = await self.database.rows(statements.DATABASE_SIZE, {})
        return int(rows[0][0])

    async def _head_within(self, connection: Connection, tenant: int) -> int:
        row = await (await connection.execute(statements.HEAD, {"tenant": tenant})).fetchone()
        if row is None:
            raise TenantGone(f"tenant {tenant} is gone")
        return int(row[0])

    def _listed(self, tenant: int, resource: GroupResource, row: Row) -> Record:
        namespace, name, uid, version, data = row
        return self._record(
            tenant,
            ObjectKey(resource.group, resource.resource, namespace, name),
            uid,
            version,
            data,
        )

    def _record(self, tenant: int, key: ObjectKey, uid: str, version: int, data: bytes) -> Record:
        return Record(key, uid, version, self.transformer.decode(tenant, key, data))

    def _event(self, tenant: int, row: Row) -> Event:
        (
            _floor,
            version,
            previous,
            _prior,
            _matched,
            kind,
            group,
            resource,
            namespace,
            name,
            uid,
            data,
            key_previous,
            old_data,
        ) = row
        key = ObjectKey(group, resource, namespace, name)
        old = (
            self._record(tenant, key, uid, key_previous, old_data) if old_data is not None else None
        )
        return Event(
            TYPES[kind], self._record(tenant, key, uid, version, data), previous, key_previous, old
        )
