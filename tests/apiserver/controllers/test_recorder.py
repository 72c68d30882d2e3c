"""Events that controllers write, over the database."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.controllers import recorder
from apiserver.controllers.actions import Actions
from apiserver.controllers.correlation import Regarding, Said
from apiserver.controllers.recorder import Recorder
from apiserver.errors import Forbidden
from apiserver.meta.objects import Object
from tests.support.definitionworker import Worker
from tests.support.events import events

ABOUT = Regarding("v1", "ConfigMap", "ns", "one", "uid", "7")
SAID = Said("Warning", "Odd", "it is odd")


async def test_an_event_says_who_tells_what_of_whom(worker: Worker) -> None:
    await Recorder(Actions(worker.registry), "some-controller").record(worker.tenant, ABOUT, SAID)
    (event,) = await events(worker)
    metadata, first, last = event.pop("metadata"), event.pop("firstTimestamp"), event.pop("count")
    assert (first, last) == (event.pop("lastTimestamp"), 1)
    assert metadata["name"].startswith("one.") and metadata["namespace"] == "ns"
    assert event == {
        "kind": "Event",
        "apiVersion": "v1",
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "ns",
            "name": "one",
            "uid": "uid",
            "resourceVersion": "7",
        },
        "type": "Warning",
        "reason": "Odd",
        "message": "it is odd",
        "source": {"component": "some-controller"},
        "reportingComponent": "some-controller",
        "reportingInstance": "",
        "eventTime": None,
    }


async def test_the_same_is_counted_whichever_process_sees_it(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions = Actions(worker.registry)
    monkeypatch.setattr(recorder, "format_time", lambda _: "2026-05-04T03:02:01Z")
    await Recorder(actions, "c").record(worker.tenant, ABOUT, SAID)
    monkeypatch.setattr(recorder, "format_time", lambda _: "2026-05-04T03:02:02Z")
    await Recorder(actions, "c").record(worker.tenant, ABOUT._replace(resource_version="8"), SAID)
    (event,) = await events(worker)
    assert event["count"] == 2
    assert event["firstTimestamp"] == "2026-05-04T03:02:01Z"
    assert event["lastTimestamp"] == "2026-05-04T03:02:02Z"
    await Recorder(actions, "c").record(worker.tenant, ABOUT, SAID._replace(message="other"))
    assert [event["count"] for event in await events(worker)] in ([1, 2], [2, 1])


async def test_what_is_told_too_often_is_not_written(worker: Worker) -> None:
    some = Recorder(Actions(worker.registry), "c")
    for number in range(40):
        await some.record(worker.tenant, ABOUT, SAID._replace(message=f"number {number}"))
    found = await events(worker)
    assert (len(found), sum(event["count"] for event in found)) == (10, 25)
    (combined,) = [event for event in found if event["count"] > 1]
    assert combined["message"] == "(combined from similar events): number 24"


@pytest.mark.parametrize(
    ("about", "namespace", "prefix"),
    [
        (ABOUT._replace(namespace=""), "default", "one."),
        (ABOUT._replace(name="system:node"), "ns", ""),
        (ABOUT._replace(name="n" * 250), "ns", ""),
    ],
    ids=["in no namespace", "no name of a domain", "too long"],
)
async def test_where_an_event_is(
    worker: Worker, about: Regarding, namespace: str, prefix: str
) -> None:
    await Recorder(Actions(worker.registry), "c").record(worker.tenant, about, SAID)
    (event,) = await events(worker)
    metadata = event["metadata"]
    assert metadata["namespace"] == namespace
    assert metadata["name"].startswith(prefix) and about.name not in metadata["name"][len(prefix) :]


async def test_a_long_message_is_cut_between_characters(worker: Worker) -> None:
    said = SAID._replace(message="x" + "ä" * 1000)
    await Recorder(Actions(worker.registry), "c").record(worker.tenant, ABOUT, said)
    (event,) = await events(worker)
    assert event["message"] == "x" + "ä" * 511


async def test_what_may_not_be_told_is_no_failure(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refusing(*_: Any, **__: Any) -> Object:
        raise Forbidden(recorder.EVENTS, "e", "no")

    monkeypatch.setattr(Actions, "change", refusing)
    some = Recorder(Actions(worker.registry), "c")
    for _ in range(2):
        await some.record(worker.tenant, ABOUT, SAID)
    (event,) = await events(worker)
    assert event["count"] == 1
