"""What a client is told when its tenant is full, writes too fast, or an object grows too large."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.storage import commit, tenants
from apiserver.storage.tenants import Limits
from tests.support.api import Api
from tests.support.fixtures import in_thread

PATH = "/api/v1/namespaces/default/configmaps"


def configmap(name: str, size: int) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"a": "x" * size}}


async def _limit(api: Api, **limits: int) -> None:
    await in_thread(lambda: tenants.set_limits(api.tenant.id, Limits(**limits)))


async def test_too_many_bytes_in_an_hour_are_429_with_retry_after(api: Api) -> None:
    await api.ok("POST", PATH, configmap("a", 1000))
    await _limit(api, hour_bytes=2000)
    status, body = await api("POST", PATH, configmap("b", 1000))
    assert (status, body["reason"]) == (429, "TooManyRequests")
    assert (
        body["message"]
        == "tenant default is limited to 2000 bytes written per hour, please try again later"
    )
    assert 0 < body["details"]["retryAfterSeconds"] <= 60
    await api.ok("DELETE", f"{PATH}/a")


async def test_a_full_log_is_429(api: Api) -> None:
    await _limit(api, log_bytes=1500)
    await api.ok("POST", PATH, configmap("a", 1000))
    status, body = await api(
        "PATCH", f"{PATH}/a", {"data": {"a": "y" * 1000}}, "application/merge-patch+json"
    )
    assert status == 429 and "bytes of retained history" in body["message"]
    await api.ok("DELETE", f"{PATH}/a")


@pytest.mark.parametrize("limit", ["objects", "bytes"])
async def test_a_full_tenant_is_403(api: Api, limit: str) -> None:
    await _limit(api, **{limit: 0})
    status, body = await api("POST", PATH, configmap("a", 10))
    assert (status, body["reason"]) == (403, "Forbidden")
    assert (
        body["message"]
        == f'configmaps "a" is forbidden: exceeded quota: tenant default is limited to 0 {limit}'
    )


async def test_an_object_that_patches_have_made_too_large_is_413(api: Api) -> None:
    large = "x" * 2_500_000
    events = "/api/v1/namespaces/default/events"
    event = {
        "metadata": {"name": "a"},
        "involvedObject": {"namespace": "default"},
        "message": large,
    }
    await api.ok("POST", events, event)
    patch = [{"op": "add", "path": "/involvedObject/fieldPath", "value": large}]
    status, answer = await api("PATCH", f"{events}/a", patch, "application/json-patch+json")
    assert status == 413, str(answer)[:300]
    assert answer["reason"] == "RequestEntityTooLarge"
    assert answer["message"].endswith("limit is 4194304")


LONG = {f"{'k' * 100}{i}": "" for i in range(40)}
"""Keys of which managedFields tell more than the object itself."""


@pytest.mark.parametrize("write", ["create", "put", "merge", "json"])
async def test_an_object_loses_managers_that_make_it_too_large(
    api: Api, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    monkeypatch.setattr(commit, "MAX_OBJECT", 7000)
    body = {"metadata": {"name": "a"}, "data": LONG}
    if write == "create":
        made = await api.ok("POST", PATH, body)
    else:
        old = await api.ok("POST", PATH, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        assert old["metadata"]["managedFields"]
        if write == "put":
            made = await api.ok("PUT", f"{PATH}/a", body)
        else:
            patch = [{"op": "replace", "path": "/data", "value": LONG}]
            _, made = await api.patch(
                f"{PATH}/a", patch if write == "json" else {"data": {"k": None, **LONG}}, write
            )
    assert made["data"] == LONG and "managedFields" not in made["metadata"]
    assert await api.ok("GET", f"{PATH}/a") == made


async def test_an_apply_keeps_its_managers_or_is_413(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MAX_OBJECT", 7000)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": LONG}
    status, answer = await api.patch(f"{PATH}/a", body, "apply", fieldManager="m")
    assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")
    few = {**body, "data": {"k": "v"}}
    status, answer = await api.patch(f"{PATH}/a", few, "apply", fieldManager="m")
    assert status == 201 and answer["metadata"]["managedFields"]
    status, answer = await api.patch(f"{PATH}/a", body, "apply", fieldManager="m")
    assert status == 413, answer


async def test_an_object_that_is_too_large_without_managers_too_is_413(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MAX_OBJECT", 4000)
    status, answer = await api("POST", PATH, {"metadata": {"name": "a"}, "data": LONG})
    assert status == 413 and answer["message"].endswith("limit is 4000")


@pytest.mark.parametrize("limit", ["objects", "bytes", "hour_bytes", "log_bytes"])
async def test_a_dry_run_refuses_what_the_write_would(api: Api, limit: str) -> None:
    """Of each way to write; and once there is room, both are let through."""
    made = await api.ok("POST", PATH, configmap("a", 10))
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **configmap("c", 10)}
    writes: list[tuple[Any, ...]] = [
        ("POST", PATH, configmap("b", 10)),
        ("PUT", f"{PATH}/a", {**made, "data": {"a": "x" * 100}}),
        ("PATCH", f"{PATH}/a", {"data": {"a": "y" * 200}}, merge),
        ("PATCH", f"{PATH}/c?fieldManager=m", applied, apply),
    ]
    creates = (writes[0], writes[3])
    await _limit(api, **{limit: 0})
    for method, path, *body in writes:
        dry = await api(method, f"{path}{'&' if '?' in path else '?'}dryRun=All", *body)
        status, refused = await api(method, path, *body)
        if limit == "objects" and (method, path, *body) not in creates:
            assert status == dry[0] == 200
            continue
        assert status == (403 if limit in {"objects", "bytes"} else 429)
        assert (dry[0], dry[1]["message"]) == (status, refused["message"])
    await _limit(api)
    head = await api.ok("GET", PATH)
    for method, path, *body in creates:
        dried, _ = await api(method, f"{path}{'&' if '?' in path else '?'}dryRun=All", *body)
        assert dried == 201
    assert (await api.ok("GET", PATH))["items"] == head["items"]


async def test_a_dry_run_of_an_object_that_is_too_large_is_413(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MAX_OBJECT", 4000)
    body = {"metadata": {"name": "a"}, "data": LONG}
    status, answer = await api("POST", f"{PATH}?dryRun=All", body)
    assert status == 413 and answer["message"].endswith("limit is 4000")
    monkeypatch.setattr(commit, "MAX_OBJECT", 7000)
    status, answer = await api("POST", f"{PATH}?dryRun=All", body)
    assert status == 201 and "managedFields" not in answer["metadata"]
