"""Conversion webhooks that fail, each in its way: a clear Status, nothing lost, and nobody else
disturbed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.meta.objects import Object
from tests.support.api import Api
from tests.support.conversionfailures import WHO, is_defined, refused
from tests.support.webhooks import (
    Answer,
    Reply,
    converting,
    success,
    webhook,
)
from tests.support.widgets import CRD, V1, V2, define, redefine, widget

REVIEW = "apiextensions.k8s.io/v1"


def answering(reply: Any) -> Answer:
    async def answer(review: Object) -> Any:
        return reply(review)

    return answer


def _with(change: Any) -> Answer:
    """Converts, and then does something to each object."""

    async def answer(review: Object) -> Object:
        made = await converting(review)
        for obj in made["response"]["convertedObjects"]:
            change(obj)
        return made

    return answer


def _review(review: Object, **response: Any) -> Object:
    return {**success(review, []), "response": {"uid": review["request"]["uid"], **response}}


STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
BROKEN: dict[str, tuple[Answer, str]] = {
    "too large": (
        _with(lambda o: o.update(filling="x" * 200_000)),
        f"{WHO} failed: the converted objects are too large: <n> bytes for <n>",
    ),
    "wrong uid": (
        answering(lambda r: success(r, r["request"]["objects"], uid="other")),
        f'{WHO} failed: expected response.uid="<uid>", got "other"',
    ),
    "no objects": (answering(lambda r: success(r, [])), f"{WHO} returned 0 objects, expected 1"),
    "too many objects": (
        answering(lambda r: success(r, r["request"]["objects"] * 2)),
        f"{WHO} returned 2 objects, expected 1",
    ),
    "not converted": (
        answering(lambda r: success(r, r["request"]["objects"])),
        f"{WHO} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, "
        f"received example.com/v1)",
    ),
    "other kind": (
        _with(lambda o: o.update(kind="Gadget")),
        f"{WHO} returned invalid object at index 0: invalid kind (expected Widget, received "
        f"Gadget)",
    ),
    "other name": (
        _with(lambda o: o["metadata"].update(name="b")),
        f"{WHO} returned invalid object: must have the same name: a != b",
    ),
    "other namespace": (
        _with(lambda o: o["metadata"].update(namespace="x")),
        f"{WHO} returned invalid object: must have the same namespace: ns != x",
    ),
    "other UID": (
        _with(lambda o: o["metadata"].update(uid="x")),
        f"{WHO} returned invalid object: must have the same UID: <uid> != x",
    ),
    "no metadata": (
        _with(lambda o: o.pop("metadata")),
        f"{WHO} returned invalid object: must have the same name: a != ",
    ),
    "bad label": (
        _with(lambda o: o["metadata"].update(labels={"a": 1})),
        f"{WHO} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in "
        f"converted object",
    ),
    "labels of another type": (
        _with(lambda o: o["metadata"].update(labels=["a"])),
        f"{WHO} returned invalid metadata: invalid metadata.labels of type []interface {{}} in "
        f"converted object",
    ),
    "failure with a message": (
        answering(
            lambda r: _review(r, result={"status": "Failure", "message": "the address is unknown"})
        ),
        f"{WHO} failed: the address is unknown",
    ),
    "failure without a message": (
        answering(lambda r: _review(r, result={"status": "Failure"})),
        f"{WHO} failed: response.result.status was 'Failure', not 'Success'",
    ),
    "no result": (
        answering(_review),
        f"{WHO} failed: response.result.status was '', not 'Success'",
    ),
    "no response": (
        answering(lambda r: {**r, "response": None}),
        f"{WHO} failed: no response provided",
    ),
    "another kind of review": (
        answering(lambda r: {**success(r, []), "kind": "Review"}),
        f'{WHO} failed: no kind "Review" is registered for version "{REVIEW}" in scheme '
        f'"k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    ),
    "another version of review": (
        answering(lambda r: {**success(r, []), "apiVersion": f"{REVIEW}beta1"}),
        f"{WHO} failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown "
        f"conversion",
    ),
    "a review that does not say what it is": (
        answering(lambda r: {"response": success(r, [])["response"]}),
        f"{WHO} failed: expected webhook response of {REVIEW}, Kind=ConversionReview, got /, Kind=",
    ),
    "null for an object": (
        answering(lambda r: success(r, [None for _ in r["request"]["objects"]])),
        "unexpected end of JSON input",
    ),
    "text for an object": (
        answering(lambda r: success(r, ["x" for _ in r["request"]["objects"]])),
        "json: cannot unmarshal string into Go value of type map[string]interface {}",
    ),
    "garbage": (
        answering(lambda r: Reply(b"<html>")),
        f"{WHO} failed: couldn't get version/kind; json parse error: json: cannot unmarshal string "
        f"into Go value of type {STRUCT}",
    ),
    "no object": (
        answering(lambda r: Reply(b"[1]")),
        f"{WHO} failed: couldn't get version/kind; json parse error: json: cannot unmarshal array "
        f"into Go value of type {STRUCT}",
    ),
    "nothing": (
        answering(lambda r: Reply(b"")),
        f"{WHO} failed: 0-length response with status code: 200 and content type: application/json",
    ),
    "HTTP 500": (
        answering(lambda r: Reply(b"it broke\n", 500, "text/plain")),
        f'{WHO} failed: an error on the server ("it broke") has prevented the request from '
        f"succeeding",
    ),
    "HTTP 500 with a Status": (
        answering(
            lambda r: Reply(b'{"kind":"Status","status":"Failure","message":"out of order"}', 500)
        ),
        f"{WHO} failed: out of order",
    ),
    "HTTP 400": (
        answering(lambda r: Reply(b"no", 400, "text/plain")),
        f"{WHO} failed: the server rejected our request for an unknown reason",
    ),
    "a redirect": (
        answering(lambda r: Reply(b"", 302, "", "Location: https://127.0.0.1:1/\r\n")),
        f"{WHO} failed: the server responded with the status code 302 but did not return more "
        f"information",
    ),
    "hangs up": (answering(lambda r: None), f'{WHO} failed: Post "<url>": EOF'),
    "speaks no HTTP": (
        answering(lambda r: _raw(b"hello\r\n\r\n")),
        f'{WHO} failed: Post "<url>": net/http: HTTP/1.x transport connection broken: <why>',
    ),
}


def _raw(data: bytes) -> Reply:
    made = Reply(b"")
    made.data = data
    return made


@pytest.mark.parametrize("case", BROKEN)
async def test_each_failure_is_told_and_loses_nothing(api: Api, case: str) -> None:
    answer, text = BROKEN[case]
    async with webhook(answer) as hook:
        await define(api, hook.config())
        before = await api.ok("POST", V1, widget("a", host="h", port=1))
        for path in (f"{V2}/a", V2, f"{V2}/a/scale", f"{V2}/a/status", f"{V2}?labelSelector=a%3Db"):
            refused(await api("GET", path), text)
        refused(await api("DELETE", f"{V2}/a"), text)
        refused(await api("DELETE", V2), text)
        refused(await api.patch(f"{V2}/a", {"spec": {"address": "x:1"}}), text)
        refused(
            await api.patch(f"{V2}/a", widget("a", "v2", address="x:1"), "apply", fieldManager="m"),
            text,
        )
        assert await api.ok("GET", f"{V1}/a") == before
        hook.answer = converting
        assert (await api.ok("GET", f"{V2}/a"))["spec"] == {"address": "h:1"}
        assert (await api.ok("GET", V2))["items"][0]["spec"] == {"address": "h:1"}


async def test_writes_that_cannot_be_stored_are_refused(api: Api) -> None:
    async with webhook(BROKEN["failure with a message"][0]) as hook:
        await define(api, hook.config())
        text = "conversion webhook for example.com/v2, Kind=Widget failed: the address is unknown"
        refused(await api("POST", V2, widget("a", "v2", address="h:1")), text)
        refused(await api("POST", f"{V2}?dryRun=All", widget("a", "v2", address="h:1")), text)
        refused(
            await api.patch(f"{V2}/a", widget("a", "v2", address="h:1"), "apply", fieldManager="m"),
            text,
        )
        assert (await api.ok("GET", V1))["items"] == []


async def test_nothing_is_stored_that_could_not_be_read_again(api: Api) -> None:
    async def one_way(review: Object) -> Object:
        if review["request"]["desiredAPIVersion"].endswith("v2"):
            return _review(review, result={"status": "Failure", "message": "there is no way back"})
        return await converting(review)

    async with webhook(one_way) as hook:
        await define(api, hook.config())
        refused(
            await api("POST", V2, widget("a", "v2", address="h:1")),
            f"{WHO} failed: there is no way back",
        )
        assert (await api.ok("GET", V1))["items"] == []


async def test_a_failing_webhook_costs_nobody_their_fields(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await api.patch(f"{V2}/a", widget("a", "v2", address="h:1"), "apply", fieldManager="two")
        before = await api.ok("GET", f"{V1}/a")
        hook.answer = BROKEN["HTTP 400"][0]
        text = f"{WHO} failed: the server rejected our request for an unknown reason"
        refused(await api.patch(f"{V1}/a", {"spec": {"port": 9}}), text)  # whose managers are of v2
        refused(
            await api.patch(f"{V1}/a", widget("a", replicas=1), "apply", fieldManager="one"), text
        )
        assert await api.ok("GET", f"{V1}/a") == before


async def test_one_bad_object_fails_the_list_and_not_its_neighbours(api: Api) -> None:
    async def picky(review: Object) -> Object:
        if any(o["metadata"]["name"] == "bad" for o in review["request"]["objects"]):
            return _review(review, result={"status": "Failure", "message": "bad is bad"})
        return await converting(review)

    async with webhook(picky) as hook:
        await define(api, hook.config())
        for name in ("a", "bad", "c"):
            await api.ok("POST", V1, widget(name, host="h"))
        refused(await api("GET", V2), f"{WHO} failed: bad is bad")
        together = await asyncio.gather(
            api("GET", V2), api("GET", f"{V2}/a"), api("GET", f"{V2}/c")
        )
        assert [status for status, _ in together] == [500, 200, 200]
        assert len((await api.ok("GET", V1))["items"]) == 3


async def test_who_waits_for_a_call_that_fails_makes_none_of_its_own(api: Api) -> None:
    for case in ("HTTP 500", "failure with a message"):
        answer, text = BROKEN[case]
        go = asyncio.Event()

        async def slow(review: Object, go: asyncio.Event = go, answer: Answer = answer) -> Any:
            await go.wait()
            return await answer(review)

        async with webhook(slow) as hook:
            if await is_defined(api):
                await redefine(api, hook.config())
            else:
                await define(api, hook.config())
                await api.ok("POST", V1, widget("a", host="h"))
            await api.ok("GET", V1)
            readers = [asyncio.create_task(api("GET", f"{V2}/a")) for _ in range(20)]
            await api.until(lambda hook=hook: hook.calls)
            for _ in range(5):
                await api.ok("GET", V1)  # meanwhile the others have come to wait
            go.set()
            for found in await asyncio.gather(*readers):
                refused(found, text)
            assert len(hook.calls) == 1


async def test_a_watch_is_told_and_ends_and_others_go_on(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await api.ok("POST", V1, widget("a", host="h"))
        plain, converted = api.watch(f"{V1}?watch=true"), api.watch(f"{V2}?watch=true")
        for watch in (plain, converted):
            await watch.take(1)
        hook.answer = BROKEN["failure with a message"][0]
        changed = (await api.patch(f"{V1}/a", {"spec": {"host": "i"}}))[1]
        (error,) = await converted.take(1)
        status = error["object"]
        assert error["type"] == "ERROR" and (status["code"], status["reason"]) == (
            500,
            "InternalError",
        )
        assert status["message"] == f"Internal error occurred: {WHO} failed: the address is unknown"
        assert await converted.next() is None
        assert (await plain.take(1))[0]["object"] == changed
        hook.answer = converting
        again = api.watch(
            f"{V2}?watch=true&resourceVersion={int(changed['metadata']['resourceVersion']) - 1}"
        )
        assert (await again.take(1))[0]["object"]["spec"] == {"address": "i:80"}
        for watch in (plain, converted, again):
            await watch.stop()


async def test_initial_events_that_cannot_be_made_end_the_watch(api: Api) -> None:
    async with webhook(BROKEN["HTTP 400"][0]) as hook:
        await define(api, hook.config())
        await api.ok("POST", V1, widget("a", host="h"))
        query = (
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
            "allowWatchBookmarks=true"
        )
        watch = api.watch(f"{V2}?{query}")
        (error,) = await watch.take(1)
        assert (error["type"], error["object"]["reason"]) == ("ERROR", "InternalError")
        assert await watch.next() is None
        await watch.stop()


@pytest.mark.parametrize("converts", [True, False])
async def test_a_version_that_is_gone_cannot_be_converted_from(api: Api, converts: bool) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config() if converts else None)
        await api.ok("POST", V1, widget("a", host="h"))
        found = await api.ok("GET", CRD)
        found["spec"]["versions"] = [
            {**v, "storage": True} for v in found["spec"]["versions"] if v["name"] == "v2"
        ]
        found["status"]["storedVersions"] = ["v2"]
        found = await api.ok(
            "PUT", f"{CRD}/status", {**found, "spec": (await api.ok("GET", CRD))["spec"]}
        )
        found["spec"]["versions"] = [
            {**v, "storage": True} for v in found["spec"]["versions"] if v["name"] == "v2"
        ]
        await api.ok("PUT", CRD, found)
        await api.until(
            lambda: api.catalog.find(api.tenant, "example.com", "widgets").storage_version == "v2"
        )  # type: ignore[union-attr]
        for path in (f"{V2}/a", V2, f"{V2}?labelSelector=a%3Db"):
            refused(
                await api("GET", path),
                "request to convert CR from an invalid group/version: example.com/v1",
            )
