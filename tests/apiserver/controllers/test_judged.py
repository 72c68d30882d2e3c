"""What controllers write to an object in the state that they have judged."""

from __future__ import annotations

from collections.abc import Callable

from apiserver.controllers.actions import Actions
from apiserver.meta.objects import Object
from apiserver.storage.interface import ObjectKey
from tests.support.definitionworker import Worker

MAPS = ("", "configmaps")


async def test_what_has_changed_meanwhile_is_not_written(worker: Worker) -> None:
    def say(text: str) -> Callable[[Object], None]:
        def edit(obj: Object) -> None:
            obj["data"] = {"said": text}

        return edit

    metadata = {"name": "a", "namespace": "ns"}
    await worker.create(MAPS, {"metadata": metadata, "data": {"said": "first"}})
    actions, key = Actions(worker.registry), ObjectKey(*MAPS, "ns", "a")
    judged = (await worker.get(MAPS, "a"))["metadata"]["resourceVersion"]
    assert await actions.change_judged(worker.tenant, key, judged, say("second"))
    assert not await actions.change_judged(worker.tenant, key, judged, say("third"))
    assert (await worker.get(MAPS, "a"))["data"] == {"said": "second"}
