"""What calls of admission webhooks leave behind: metrics, a line in the log, and
turns of their tenant."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from admission.webhooks import client as client_module
from apiserver.audit import latencies
from apiserver.audit.policy import DEFAULT
from apiserver.audit.recorder import Recorder
from apiserver.endpoints import metrics
from apiserver.endpoints.webhook_counts import WebhookCounts
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.admissionhooks import (
    HOOK,
    KINDS,
    MAPS,
    admitting,
    allowing,
    answer,
    configmap,
    configure,
    entry,
    replying,
    said,
)
from tests.support.api import Api
from tests.support.auditworld import Listener
from tests.support.webhooks import Reply, webhook


async def test_calls_are_counted_for_the_tenant_and_the_installation(
    store: PostgresStore, tenant: int
) -> None:
    async with (
        admitting(store, tenant, WebhookCounts()) as api,
        webhook(said(allowed=False, status={"code": 403})) as hook,
        webhook(replying(Reply(b"", 500))) as broken,
    ):
        name = f"n{tenant}.example.com"
        await configure(api, "validating", entry(hook.config(), name))
        failing = entry(broken.config(), name, failurePolicy="Ignore")
        await configure(api, "mutating", failing)
        await api("POST", MAPS, configmap("a"))
        for families in (metrics.ALL, metrics.of_tenant(tenant)):
            lines = b"".join(families.registry.expose()).decode().splitlines()
            mine = {
                line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
                for line in lines
                if f'name="{name}"' in line
            }
            prefix = "apiserver_admission_webhook_"
            labels = f'name="{name}",type="validating",operation="CREATE"'
            assert mine[f'{prefix}request_total{{{labels},code="403",rejected="true"}}'] == 1
            assert (
                mine[f'{prefix}admission_duration_seconds_count{{{labels},rejected="true"}}'] == 1
            )
            rejected = f'{labels},error_type="no_error",rejection_code="403"'
            assert mine[f"{prefix}rejection_count{{{rejected}}}"] == 1
            assert mine[f'{prefix}fail_open_count{{name="{name}",type="admit"}}'] == 1


async def test_a_slow_call_is_told_in_the_log(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("admission.webhooks.call.SLOW", 0.0)
    caplog.set_level("INFO", "polyplane.webhooks")
    async with webhook(allowing) as hook:
        await configure(api, "validating", entry(hook.config()))
        await api.ok("POST", MAPS, configmap("a"))
        assert f"configuration hooks, webhook {HOOK}, CREATE configmaps, uid" in caplog.text


async def test_the_calls_of_a_tenant_wait_for_each_other_and_not_for_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "AT_ONCE", 1)
    go_on, running = asyncio.Event(), 0
    most = 0

    async def waits(review: Object) -> Object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await go_on.wait()
        running -= 1
        return answer(review)

    client = api.registry.webhooks
    lookup = api.registry.lookup(api.tenant)
    async with webhook(waits) as hook, webhook(allowing) as other:
        body = orjson.dumps({"apiVersion": "x", "kind": "y", "request": {"uid": "1"}})
        mine = [
            asyncio.create_task(client.post(1, hook.config(), body, lookup, 10.0)) for _ in range(3)
        ]
        await client.post(2, other.config(), body, lookup, 10.0)
        go_on.set()
        await asyncio.gather(*mine)
        assert most == 1


async def test_the_audit_log_is_told_for_how_long_they_kept_a_slow_request(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latencies, "SLOW", 0.0)
    heard = Listener()
    api.server.audit = api.registry.audit = Recorder(DEFAULT, [heard])
    async with webhook(allowing) as hook:
        for kind in KINDS:
            await configure(api, kind, entry(hook.config()))
        await api.ok("POST", MAPS, configmap("a"))
    notes = heard.events[-1]["annotations"]
    for layer in ("mutating-webhook", "validating-webhook"):
        assert f"apiserver.latency.k8s.io/{layer}" in notes
