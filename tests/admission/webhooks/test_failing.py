"""Admission webhooks that fail in every way: under Fail the client is told, under Ignore the
request goes on, and nothing that a webhook does hurts the server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from admission.webhooks import client as client_module
from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.observer import Called, Observer
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
from tests.support.webhooks import Answer, Reply, bundle, nobody, webhook


class Seen(Observer):
    """What was counted."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, bool]] = []
        self.rejections: list[tuple[str, int]] = []
        self.opened = 0

    def called(self, call: Called, seconds: float, code: int, *, rejected: bool) -> None:
        self.calls.append((call.step, code, rejected))

    def rejected(self, call: Called, error: str, code: int) -> None:
        self.rejections.append((error, code))

    def failed_open(self, call: Called) -> None:
        self.opened += 1


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int, seen: Seen) -> AsyncIterator[Api]:
    async with admitting(store, tenant, seen) as served:
        yield served


async def wrong_kind(review: Object) -> Object:
    return {**answer(review), "kind": "Pod", "apiVersion": "v1"}


async def no_type(review: Object) -> Object:
    return {"response": answer(review)["response"]}


async def older_version(review: Object) -> Object:
    return {**answer(review), "apiVersion": "admission.k8s.io/v1beta1"}


async def nothing_said(review: Object) -> Object:
    return {"apiVersion": review["apiVersion"], "kind": review["kind"]}


REDIRECT = Reply(b"", 302, headers="Location: https://169.254.169.254/latest/meta-data\r\n")
STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
CALL, RECEIVED = "failed to call webhook: ", "received invalid webhook response: "
FAILURES: list[tuple[str, Answer, str]] = [
    (
        "text",
        replying(Reply(b"webhook invalid response")),
        f"{CALL}couldn't get version/kind; json parse error: json: cannot unmarshal string into "
        f"Go value of type {STRUCT}",
    ),
    (
        "broken JSON",
        replying(Reply(b'{"a":')),
        f"{CALL}couldn't get version/kind; json parse error: unexpected end of JSON input",
    ),
    (
        "wrong type",
        said(allowed="yes"),
        f"{CALL}json: cannot unmarshal string into Go struct field "
        "AdmissionResponse.response.allowed of type bool",
    ),
    (
        "wrong kind",
        wrong_kind,
        f'{CALL}no kind "Pod" is registered for version "v1" in scheme '
        '"k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    ),
    (
        "no type",
        no_type,
        f"{RECEIVED}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
        "got /, Kind=",
    ),
    (
        "another version",
        older_version,
        f"{CALL}converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    ("no response", nothing_said, f"{RECEIVED}webhook response was absent"),
    (
        "redirect",
        replying(REDIRECT),
        f"{CALL}the server responded with the status code 302 but did not return more information",
    ),
    (
        "error",
        replying(Reply(b"webhook internal server error\n", 500, "text/plain")),
        f'{CALL}an error on the server ("webhook internal server error") has prevented the request '
        "from succeeding",
    ),
    (
        "empty",
        replying(Reply(b"")),
        f"{CALL}0-length response with status code: 200 and content type: application/json",
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("reply", "text"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
async def test_an_answer_that_is_none(
    api: Api, seen: Seen, kind: str, reply: Answer, text: str
) -> None:
    async with webhook(reply) as hook:
        await configure(api, kind, entry(hook.config(), failurePolicy="Fail"))
        status, told = await api("POST", MAPS, configmap("a"))
        message = f'failed calling webhook "{HOOK}": {text}'
        assert told == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: {message}",
            "reason": "InternalError",
            "details": {"causes": [{"message": message}]},
            "code": 500,
        }
        assert status == 500 and seen.opened == 0
        ((error, _),) = seen.rejections
        assert error == "calling_webhook_error"


@pytest.mark.parametrize("kind", KINDS)
async def test_failures_are_ignored_where_the_policy_says_so(
    api: Api, seen: Seen, kind: str
) -> None:
    async with webhook(replying(Reply(b"", 500))) as broken, webhook(allowing) as good:
        entries = [
            entry(config, f"h{i}.example.com", failurePolicy="Ignore")
            for i, config in enumerate(
                (broken.config(), nobody(), broken.config(caBundle=bundle("two")), good.config())
            )
        ]
        await configure(api, kind, *entries)
        await api.ok("POST", MAPS, configmap("a"))
        assert len(good.calls) == 1
        assert seen.opened == 3 and seen.rejections == []
        assert sorted(code for _, code, _ in seen.calls) == [200, 500, 503, 503]


async def text_of(api: Api, config: Object, **more: Any) -> str:
    """What a client is told of a webhook that cannot be asked."""
    await configure(api, "validating", entry(config, **more))
    status, told = await api("POST", MAPS, configmap("a"))
    assert (status, told["reason"]) == (500, "InternalError")
    return str(told["message"].partition("failed to call webhook: ")[2])


async def test_nobody_is_there(api: Api) -> None:
    config = nobody()
    url = f"{config['url']}?timeout=10s"
    where = config["url"].removeprefix("https://").partition("/")[0]
    text = await text_of(api, config)
    assert text == f'Post "{url}": dial tcp {where}: connect: connection refused'


async def test_a_certificate_by_another_authority(api: Api) -> None:
    async with webhook(allowing) as hook:
        text = await text_of(api, hook.config(caBundle=bundle("two")))
        assert text.endswith(
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        )


async def test_no_tls(api: Api) -> None:
    async with webhook(allowing, plain=True) as hook:
        text = await text_of(api, hook.config())
        assert text.endswith("http: server gave HTTP response to HTTPS client")


async def test_refused_addresses(store: PostgresStore, tenant: int) -> None:
    async with admitting(store, tenant, policy=AddressPolicy(loopback=False)) as api:
        text = await text_of(api, {"url": "https://169.254.169.254/latest"})
        assert text.endswith("this server does not call webhooks at that address")
        await api.ok(
            "DELETE",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks",
        )
        async with webhook(allowing) as hook:
            text = await text_of(api, hook.config())
            assert text.endswith("this server does not call webhooks at that address")
            assert hook.connections == 0


async def test_a_service_that_is_not_there(api: Api) -> None:
    config = {"service": {"namespace": "ns", "name": "svc", "path": "/x"}, "caBundle": bundle()}
    text = await text_of(api, config)
    assert text == 'Post "https://svc.ns.svc:443/x?timeout=10s": service "svc" not found'


async def test_a_huge_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MOST_BYTES", 1000)
    monkeypatch.setattr(client_module, "MOST_FACTOR", 0)
    async with webhook(replying(Reply(b"[" + b"0" * 5000 + b"]"))) as hook:
        assert (await text_of(api, hook.config())).endswith("the response is too large")


async def test_another_uid(api: Api) -> None:
    async with webhook(said(uid="another")) as hook:
        await configure(api, "validating", entry(hook.config()))
        _, told = await api("POST", MAPS, configmap("a"))
        uid = hook.calls[0]["request"]["uid"]
        assert told["message"].endswith(f'expected response.uid="{uid}", got "another"')


@pytest.mark.parametrize("kind", KINDS)
async def test_a_slow_webhook_has_its_timeout(api: Api, seen: Seen, kind: str) -> None:
    async def slow(review: Object) -> Object:
        await asyncio.sleep(60)
        return answer(review)

    async with webhook(slow) as hook, webhook(allowing) as other:
        entries = [entry(hook.config(), timeoutSeconds=1), entry(other.config(), "o.example.com")]
        await configure(api, kind, *entries)
        status, told = await api("POST", MAPS, configmap("a"))
        assert status == 500
        assert told["message"].endswith(f'Post "{hook.url}?timeout=1s": context deadline exceeded')
        assert seen.rejections == [("calling_webhook_error", 503)]


async def test_a_slow_webhook_that_may_fail_lets_the_request_go_on(api: Api) -> None:
    async def slow(review: Object) -> Object:
        await asyncio.sleep(60)
        return answer(review)

    async with webhook(slow) as hook:
        waits = entry(hook.config(), timeoutSeconds=1, failurePolicy="Ignore")
        await configure(api, "mutating", waits)
        await api.ok("POST", MAPS, configmap("a"))


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_the_requests_own_deadline_counts(api: Api, policy: str) -> None:
    async def slow(review: Object) -> Object:
        await asyncio.sleep(60)
        return answer(review)

    async with webhook(slow) as hook:
        await configure(api, "validating", entry(hook.config(), failurePolicy=policy))
        status, told = await api("POST", f"{MAPS}?timeout=3s", configmap("a"))
        assert (status, told["reason"]) == (504, "Timeout")
        assert told["message"] == (
            "Timeout: request did not complete within requested timeout - context deadline exceeded"
        )
        (asked,) = hook.requests  # for the seconds that are left, not for the webhook's own ten
        assert re.fullmatch(r"POST /convert\?timeout=[123]s HTTP/1\.1", asked)
        assert (await api("GET", f"{MAPS}/a"))[0] == 404


async def test_a_client_that_goes_away_ends_the_call(api: Api) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def slow(review: Object) -> Object:
        asked.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return answer(review)

    async with webhook(slow) as hook:
        await configure(api, "mutating", entry(hook.config()))
        await api.leaving("POST", MAPS, configmap("a"), asked)
        assert (await api("GET", f"{MAPS}/a"))[0] == 404
