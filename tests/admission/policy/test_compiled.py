"""Compiled policies, shared by threads."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

import pytest

from admission.policy import compiled
from admission.policy.compiled import Compiled
from tests.support.waiting import PATIENCE

_SPEC = {"variables": [{"name": "v", "expression": "1"}]}


def test_one_policy_does_not_wait_for_the_compilation_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = Event(), Event()
    policy_env = compiled.policy_env

    def slow(*arguments: Any) -> Any:
        monkeypatch.undo()  # the first one alone is slow
        begun.set()
        go_on.wait(2 * PATIENCE)  # longer than anyone here waits for it
        return policy_env(*arguments)

    monkeypatch.setattr(compiled, "policy_env", slow)
    first, second = Compiled(_SPEC), Compiled(_SPEC)
    threads = [Thread(target=lambda c=c: c.variables, daemon=True) for c in (first, second)]
    threads[0].start()
    assert begun.wait(PATIENCE)
    threads[1].start()
    threads[1].join(PATIENCE)
    alive = threads[1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not alive
    assert first.variables is first.variables
