"""componentstatuses are made up, and selected from as what is stored is."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apiserver.storage.interface import Store
from tests.support.api import Api, serving

PATH = "/api/v1/componentstatuses"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["etcd-0"]),
        ("labelSelector=a%3Db", []),
        ("labelSelector=%21a", ["etcd-0"]),
        ("fieldSelector=metadata.name%3Detcd-0", ["etcd-0"]),
        ("fieldSelector=metadata.name%3Dscheduler", []),
        ("fieldSelector=metadata.namespace%3Ddefault", []),
    ],
)
async def test_what_is_selected(api: Api, query: str, names: list[str]) -> None:
    found = await api.ok("GET", f"{PATH}?{query}")
    assert [item["metadata"]["name"] for item in found["items"]] == names


async def test_other_fields_are_not_known(api: Api) -> None:
    status, answer = await api("GET", f"{PATH}?fieldSelector=status%3Dx")
    assert (status, answer["message"]) == (
        400,
        '"status" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


async def test_they_are_not_watched(api: Api) -> None:
    status, answer = await api("GET", f"{PATH}?watch=true")
    assert (status, answer["message"]) == (
        405,
        'watch is not supported on resources of kind "componentstatuses"',
    )
    status, _ = await api("GET", f"{PATH}?watch=true&fieldSelector=status%3Dx")
    assert status == 400
