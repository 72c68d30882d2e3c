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


async def tell(worker: Worker, *said: Said, about: Regarding = ABOUT, source: str = "c") -> None:
    """One after the other by one recorder, and until they are written."""
    actions = Actions(worker.registry)
    some = Recorder(actions, source)
    for one in said:
        some.record(worker.tenant, about, one)
    await actions.beside.done()


async def test_an_event_says_who_tells_what_of_whom(worker: Worker) -> None:
    await tell(worker, SAID, source="some-controller")
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
    monkeypatch.setattr(recorder, "format_time", lambda _: "2026-05-04T03:02:01Z")
    await tell(worker, SAID)
    monkeypatch.setattr(recorder, "format_time", lambda _: "2026-05-04T03:02:02Z")
    await tell(worker, SAID, about=ABOUT._replace(resource_version="8"))
    (event,) = await events(worker)
    assert event["count"] == 2
    assert event["firstTimestamp"] == "2026-05-04T03:02:01Z"
    assert event["lastTimestamp"] == "2026-05-04T03:02:02Z"
    await tell(worker, SAID._replace(message="other"))
    assert [event["count"] for event in await events(worker)] in ([1, 2], [2, 1])


async def test_what_is_told_too_often_is_not_written(worker: Worker) -> None:
    await tell(worker, *(SAID._replace(message=f"number {number}") for number in range(40)))
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
    await tell(worker, SAID, about=about)
    (event,) = await events(worker)
    metadata = event["metadata"]
    assert metadata["namespace"] == namespace
    assert metadata["name"].startswith(prefix) and about.name not in metadata["name"][len(prefix) :]


async def test_a_long_message_is_cut_between_characters(worker: Worker) -> None:
    await tell(worker, SAID._replace(message="x" + "ä" * 1000))
    (event,) = await events(worker)
    assert event["message"] == "x" + "ä" * 511


async def test_what_may_not_be_told_is_no_failure(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refusing(*_: Any, **__: Any) -> Object:
        raise Forbidden(recorder.EVENTS, "e", "no")

    monkeypatch.setattr(Actions, "change", refusing)
    await tell(worker, SAID, SAID)
    (event,) = await events(worker)
    assert event["count"] == 1
