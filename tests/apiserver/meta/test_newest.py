from __future__ import annotations

from apiserver.meta.newest import Newest


def test_what_was_kept_longest_ago_goes() -> None:
    newest = Newest[str, int](2)
    assert [newest.keep(key, i) for i, key in enumerate("abc")] == [None, None, 0]
    assert list(newest.items()) == [("b", 1), ("c", 2)]


def test_what_is_kept_again_or_moved_counts_as_new() -> None:
    newest = Newest[str, int](3)
    for i, key in enumerate("abc"):
        newest.keep(key, i)
    assert newest.keep("a", 7) is None
    newest.move_to_end("b")
    assert [newest.keep(key, 8) for key in "de"] == [2, 7]
    assert list(newest) == ["b", "d", "e"]
