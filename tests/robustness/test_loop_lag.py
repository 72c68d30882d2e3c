"""The budget of the event loop: whatever stands in a list or a map of an object, one request

- takes at most `LOOP` seconds of processor time from the loop, or what a slow machine takes for as
  much (`YARDSTICKS`), if it is of 60 KB (larger ones are handled beside it),
- is answered with less than a mebibyte, if it is refused,
- takes time that grows with its size and not with the square of it.

Every request of a kind is sent with each list and map of its schema filled up in several ways
(tests.support.bulk). The suite takes a sample of them and those that were slow once; `make robust`
takes all (POLYPLANE_ROBUST=all), which is hours of processor time, or a part
(POLYPLANE_ROBUST=<kind>,<kind>).
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from apiserver.kinds.catalog import resources
from apiserver.registry.offload import ON_LOOP
from tests.support.api import Api
from tests.support.bases import BASES
from tests.support.bulk import FILLS, Place, places
from tests.support.lag import Cost, Target, costs, custom_target, define, measured

LOOP = 0.1
YARDSTICKS = 2.5
"""The same in times that this machine takes for a million squares, which where `LOOP` was chosen
were 0.04 s; measured beside each look, because machines differ from one hour to the next."""
FLOOR = 0.03
"""Seconds of processor time that are too few to compare."""
MEBIBYTE = 1 << 20
SMALL, BIG = 60_000, 3_000_000
ATTEMPTS = 4
WHOLE = os.environ.get("POLYPLANE_ROBUST", "")


class Case(NamedTuple):
    kind: str
    version: str
    place: str
    fill: str
    size: int

    def __str__(self) -> str:
        return f"{self.kind}.{self.version} {self.place} {self.fill} {self.size}"


# What was slow once: quadratic, or too much for the loop, or an answer of many megabytes.
ONCE_SLOW = (
    Case("ConfigMap", "v1", "metadata.ownerReferences", "distinct", SMALL),
    Case("ConfigMap", "v1", "metadata.ownerReferences", "empty", SMALL),
    Case("ConfigMap", "v1", "metadata.ownerReferences", "full", BIG // 8),
    Case("ConfigMap", "v1", "metadata.finalizers", "distinct", SMALL),
    Case("ConfigMap", "v1", "metadata.finalizers", "empty", SMALL),
    Case("ConfigMap", "v1", "metadata.labels", "empty", SMALL),
    Case("Endpoints", "v1", "subsets", "empty", SMALL),
    Case("Pod", "v1", "spec.containers", "empty", SMALL),
    Case("Pod", "v1", "spec.tolerations", "distinct", SMALL),
    Case("Pod", "v1", "spec.topologySpreadConstraints", "distinct", SMALL),
    Case("ResourceQuota", "v1", "spec.scopes", "distinct", SMALL),
    Case("Service", "v1", "spec.ports", "invalid", SMALL),
    Case("CertificateSigningRequest", "v1", "spec.usages", "distinct", SMALL),
    Case("StorageClass", "v1", "allowedTopologies", "distinct", SMALL),
)
IN_SUITE = ("create", "apply-new", "strategic")
"""The requests that the suite sends of each case; `make robust` sends all."""


def targets() -> Iterator[Target]:
    for resource in resources().values():
        for version, served in resource.versions.items():
            if "create" in served.verbs:
                yield Target(resource, version, BASES.get(resource.kind, {}))
    yield custom_target()


def every_case() -> Iterator[Case]:
    for target in targets():
        schema = target.resource.versions[target.version].schema
        for place in places(schema):
            for fill in FILLS:
                yield Case(target.resource.kind, target.version, str(place), fill, SMALL)


def chosen() -> list[Case]:
    if WHOLE:
        kinds = () if WHOLE == "all" else WHOLE.split(",")
        small = [case for case in every_case() if not kinds or case.kind in kinds]
        return [
            *small,
            *(case._replace(size=BIG) for case in small if case.fill in ("distinct", "equal")),
        ]
    of_kind: dict[tuple[str, str], list[Case]] = {}
    for case in every_case():
        if not case.place.startswith("metadata"):
            of_kind.setdefault((case.kind, case.version), []).append(case)
    sample = [min(cases, key=_order) for cases in of_kind.values()]
    custom = [
        case
        for case in every_case()
        if case.kind == "Foo"
        and case.place.startswith("spec")
        and case.fill in ("distinct", "empty")
    ]
    return [*ONCE_SLOW, *sample, *custom]


def _order(case: Case) -> str:
    """By chance, and the same in every run."""
    return hashlib.sha256(str(case).encode()).hexdigest()


def find(case: Case) -> tuple[Target, Place]:
    target = next(t for t in targets() if (t.resource.kind, t.version) == (case.kind, case.version))
    return target, next(
        p for p in places(target.resource.versions[case.version].schema) if str(p) == case.place
    )


def yardstick() -> float:
    """Seconds of processor time, the least of three."""
    taken = []
    for _ in range(3):
        began = time.thread_time()
        sum(i * i for i in range(1_000_000))
        taken.append(time.thread_time() - began)
    return min(taken)


def faults(half: Cost | None, whole: Cost, size: int) -> list[str]:
    found = []
    if size <= SMALL and whole.loop > LOOP and whole.loop > YARDSTICKS * yardstick():
        found.append(f"{whole.loop:.3f} s on the loop")
    if whole.status >= 400 and whole.size >= MEBIBYTE:
        found.append(f"an answer of {whole.size} bytes")
    # validation that is broken off on the loop begins anew beside it: the whole may pay that once
    if half is not None and whole.total - ON_LOOP > 3 * max(half.total, FLOOR):
        found.append(f"{half.total:.3f} s for one half, {whole.total:.3f} s for the whole")
    return found


async def look(api: Api, case: Case) -> dict[str, list[str]]:
    """By request, what is wrong. What disturbs a measurement makes it longer, so the least of some
    attempts counts."""
    target, place = find(case)
    if not target.resource.has_go_type:
        target = await define(api)
    only = () if WHOLE else IN_SUITE
    halves = await costs(api, target, place, case.fill, case.size // 2, only=only)
    wholes = await costs(api, target, place, case.fill, case.size, only=only)
    for _ in range(ATTEMPTS):
        wrong = {
            what: found
            for what, whole in wholes.items()
            if (found := faults(halves.get(what), whole, case.size))
        }
        if not wrong:
            return {}
        for made, size in ((halves, case.size // 2), (wholes, case.size)):
            for what, again in (
                await costs(api, target, place, case.fill, size, only=wrong)
            ).items():
                made[what] = least(made.get(what, again), again)
    return wrong


def least(a: Cost, b: Cost) -> Cost:
    return Cost(a.status, min(a.loop, b.loop), min(a.total, b.total), a.size)


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """Without the garbage collector, whose time belongs to whatever happens to run then."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("case", chosen(), ids=str)
def test_the_loop_goes_round(case: Case) -> None:
    async def run() -> dict[str, list[str]]:
        async with measured() as api:
            return await look(api, case)

    wrong = asyncio.run(run())
    gc.collect()
    assert not wrong
