"""The yardstick of writes: as pgbench would, clients that each insert one row after the other, with
the durability of Polyplane's."""

from __future__ import annotations

import asyncio
import time

import psycopg

_TABLE = "CREATE TABLE IF NOT EXISTS bench_inserts (id bigserial PRIMARY KEY, data text NOT NULL)"
_INSERT = "INSERT INTO bench_inserts (data) VALUES (%s)"


async def insert(conninfo: str, clients: int, seconds: float, size: int) -> tuple[int, float]:
    """(rows, seconds): every row is its own transaction; each client inserts one at least."""
    connections = [
        await psycopg.AsyncConnection.connect(conninfo, autocommit=True) for _ in range(clients)
    ]
    await connections[0].execute(_TABLE)
    row = "x" * size
    began = time.perf_counter()
    end = began + seconds

    async def one(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> int:
        count = 0
        while not count or time.perf_counter() < end:
            await connection.execute(_INSERT, [row])
            count += 1
        return count

    rows = sum(await asyncio.gather(*(one(c) for c in connections)))
    took = time.perf_counter() - began
    await connections[0].execute("DROP TABLE bench_inserts")
    for connection in connections:
        await connection.close()
    return rows, took
