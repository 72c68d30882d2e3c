"""The authorization benchmark measures what it says: its worlds decide as the yardstick does."""

from __future__ import annotations

from tests.benchmarks.authorization import CASES, by_hand, world


async def test_worlds_decide_as_by_hand() -> None:
    for case in CASES:
        authority, there = world(case.namespace)
        decision = await authority.authorize(there, case.question)
        assert decision.allowed == (await by_hand(case.question)()).allowed
        assert decision.allowed == (case.question.verb == "get")
        stranger = case.question._replace(user=case.question.user.__class__("nobody"))
        assert not (await authority.authorize(there, stranger)).allowed
