"""Random families under random deletions: nobody whom a solid owner keeps is deleted
(`World.delete_judged` checks), and in the end all are gone that nobody keeps."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ownedworld import TENANT, World, survivors

KINDS = st.sampled_from(["ConfigMap", "ConfigMap", "Secret", "ClusterRole"])
BLOCKS = st.sampled_from([True, True, False, None])
NAMESPACES = st.sampled_from(["ns", "ns", "ns", "other"])


class Families:
    """A world with objects that own each other at random, in circles too."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.world = data, World()
        self.uids = [self._create(i) for i in range(data.draw(st.integers(2, 8), label="objects"))]
        for uid in self.uids:
            owners = data.draw(
                st.lists(st.sampled_from(self.uids), unique=True, max_size=3), label="owners"
            )
            if (
                self.world.objects[uid].key.namespace == ""
            ):  # an owner in a namespace would make it nobody's business
                owners = [o for o in owners if self.world.objects[o].key.namespace == ""]
            references = [self.world.reference(o, block=data.draw(BLOCKS)) for o in owners]
            if references:
                self.world.edit(
                    uid, lambda m, references=references: m.update(ownerReferences=references)
                )  # type: ignore[misc]

    def _create(self, number: int) -> str:
        finalizers = self.data.draw(st.sampled_from([[], [], ["x/hold"]]), label="finalizers")
        kind, namespace = self.data.draw(KINDS), self.data.draw(NAMESPACES)
        return self.world.create(
            f"n{number}", kind=kind, namespace=namespace, finalizers=finalizers
        )

    def valid_owners(self) -> dict[str, list[str]]:
        """Those that have references to nobody who could be an owner own themselves a place among
        the dead: an owner that never is."""
        owners: dict[str, list[str]] = {}
        for uid, item in self.world.objects.items():
            references = item.metadata.get("ownerReferences", ())
            solid = [r["uid"] for r in references if self.world.solid(item, r)]
            owners[uid] = solid or (["nobody"] if references else [])
        return owners

    async def live(self, policies: list[str]) -> set[str]:
        """Users delete, finalizers are taken off and the collector gets around to this or that, in
        any order. Whom users deleted."""
        deleted: set[str] = set()
        for _ in range(self.data.draw(st.integers(1, 12), label="steps")):
            uid = self.data.draw(st.sampled_from(self.uids))
            act = self.data.draw(
                st.sampled_from(["delete", "release", "marked", "collect", "gone"])
            )
            if uid not in self.world.objects:
                continue
            if act == "delete":
                self.world.delete(uid, self.data.draw(st.sampled_from(policies)))
                deleted.add(uid)
            elif act == "release":
                self.release(uid)
            elif act == "marked":
                await self.world.collector().marked(TENANT, self.world.objects[uid].key)
            elif act == "collect":
                await self.world.collector().collect(TENANT, [uid])
            else:
                await self.world.collector().owners_gone(TENANT, dict(self.world.gone))
        return deleted

    def release(self, uid: str) -> None:
        self.world.edit(
            uid,
            lambda m: m.update(finalizers=[f for f in m.get("finalizers", ()) if f != "x/hold"]),
        )

    async def end(self) -> None:
        """Nothing holds anything any more, and the collector has seen to everything."""
        await self.world.settle()
        for uid in self.uids:
            if uid in self.world.objects:
                self.release(uid)
        await self.world.settle()


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_those_survive_whom_a_survivor_owns(data: st.DataObject) -> None:
    async def run() -> None:
        families = Families(data)
        owners = families.valid_owners()
        deleted = await families.live(["Background", "Foreground"])
        await families.end()
        assert set(families.world.objects) == survivors(owners, deleted)

    asyncio.run(run())


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_in_the_end_nobody_is_left_who_waits_or_whom_nobody_keeps(data: st.DataObject) -> None:
    async def run() -> None:
        families = Families(data)
        deleted = await families.live(["Background", "Foreground", "Orphan"])
        await families.end()
        assert deleted.isdisjoint(families.world.objects)
        for item in families.world.objects.values():
            references = item.metadata.get("ownerReferences", ())
            assert all(families.world.solid(item, r) for r in references), (
                "what keeps nobody is taken off"
            )
            assert not item.metadata.get("deletionTimestamp")

    asyncio.run(run())
