"""A server of this process, from its start to its end."""

from __future__ import annotations

import os
import socket

from asgiref.sync import sync_to_async

from apiserver.storage import compact
from apiserver.storage.models import Lease
from controlplane import wiring
from controlplane.tenancy import service
from tests.support.waiting import until_true


async def test_a_server_that_stops_leaves_its_duties_to_the_next_one(postgres: str) -> None:
    await sync_to_async(service.ensure_tenant)(service.DEFAULT)
    own = Lease.objects.filter(holder=f"{socket.gethostname()}:{os.getpid()}")
    server = await wiring.start_server()
    await until_true(own.filter(name=compact.LEASE).aexists)
    await wiring.stop_server(server)
    assert not await own.aexists()
