"""What `manage.py up` takes for a server that is up."""

from __future__ import annotations

import http.client
import ssl

import pytest

from controlplane.supervisor.readiness import is_ready


@pytest.mark.parametrize(
    ("status", "up"), [(200, True), (401, True), (403, True), (404, False), (500, False)]
)
def test_a_server_that_refuses_strangers_is_up(
    monkeypatch: pytest.MonkeyPatch, status: int, up: bool
) -> None:
    class Answer:
        def __init__(self) -> None:
            self.status = status

    monkeypatch.setattr(http.client.HTTPSConnection, "request", lambda *_: None)
    monkeypatch.setattr(http.client.HTTPSConnection, "getresponse", lambda _: Answer())

    assert is_ready("127.0.0.1", 1, ssl.create_default_context()) is up
