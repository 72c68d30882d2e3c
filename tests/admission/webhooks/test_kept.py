from __future__ import annotations

from admission.webhooks.kept import Kept


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_ages() -> None:
    clock = Clock()
    kept = Kept[str](clock=clock)
    kept.keep(1, b"a", "x", 10)
    kept.keep(1, b"b", "y", 0)
    assert (kept.get(1, b"a"), kept.get(1, b"b"), kept.get(2, b"a")) == ("x", None, None)
    clock.now = 10
    assert kept.get(1, b"a") is None
    assert len(kept) == 0


def test_a_tenant_has_a_share_and_all_have_a_bound() -> None:
    kept = Kept[int](most=5, most_of_tenant=2)
    kept.keep(2, b"mine", 1, 10)
    for i in range(10):
        kept.keep(1, b"%d" % i, i, 10)
    assert [kept.get(1, b"%d" % i) for i in (7, 8, 9)] == [None, 8, 9]
    assert kept.get(2, b"mine") == 1
    for tenant in range(10, 15):
        kept.keep(tenant, b"x", tenant, 10)
    assert len(kept) == 5
    assert kept.get(2, b"mine") is None
    assert kept.get(14, b"x") == 14


def test_a_newer_answer_takes_the_place_and_a_tenant_that_left_leaves_nothing() -> None:
    kept = Kept[int](most_of_tenant=2)
    for value in (1, 2, 3):
        kept.keep(1, b"same", value, 10)
    kept.keep(1, b"other", 4, 10)
    kept.keep(2, b"same", 5, 10)
    assert (kept.get(1, b"same"), kept.get(1, b"other")) == (3, 4)
    kept.forget(1)
    assert (kept.get(1, b"same"), kept.get(2, b"same"), len(kept)) == (None, 5, 1)
