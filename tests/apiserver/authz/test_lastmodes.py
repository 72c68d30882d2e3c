from __future__ import annotations

import tempfile

from apiserver.authz.lastmodes import SIZE, LastModes

OFFSET = 24


def test_a_user_is_remembered_in_its_tenant() -> None:
    modes = LastModes()
    assert modes.get(1, "u") is None
    modes.set(1, "u", 0)
    modes.set(2, "u", 4)
    assert (modes.get(1, "u"), modes.get(2, "u"), modes.get(1, "v")) == (0, 4, None)
    modes.set(1, "u", 3)
    assert modes.get(1, "u") == 3


def test_workers_remember_together() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(OFFSET + SIZE))
        file.flush()
        one, other = LastModes(file.fileno(), OFFSET), LastModes(file.fileno(), OFFSET)
        one.set(7, "u", 2)
        assert other.get(7, "u") == 2
        file.seek(0)
        assert file.read(OFFSET) == bytes(OFFSET)


def test_more_users_than_there_is_room_for_forget_some_and_confuse_none() -> None:
    modes, users = LastModes(), [f"u{i}" for i in range(20_000)]
    for i, user in enumerate(users):
        modes.set(1, user, i % 5)
    remembered = [
        (i, mode) for i, user in enumerate(users) if (mode := modes.get(1, user)) is not None
    ]
    assert 4_000 < len(remembered) <= SIZE // 8
    assert all(mode == i % 5 for i, mode in remembered)
