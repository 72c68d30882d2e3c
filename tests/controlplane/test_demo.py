"""`make demo` and tenants that are there already: its own are filled again, others left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools import demo


class Server:
    """What a server with these tenants is asked. tenants: their labels by name."""

    def __init__(self, tenants: dict[str, dict[str, str] | None]) -> None:
        self.tenants, self.written = tenants, 0

    def __call__(self, method: str, path: str, *rest: Any, **more: Any) -> Any:
        assert (method, path) == ("GET", "/apis/tenancy.polyplane.dev/v1/tenants")
        metadata = ({"name": n, "labels": of} for n, of in self.tenants.items())
        return {"items": [{"metadata": one} for one in metadata]}

    def apply(self, obj: Any, manager: str = "") -> None:
        self.written += 1
        raise demo.Refused(500, "as far as this test goes")


@pytest.mark.parametrize("labels", [None, {}, {"demo": "no"}, {"team": "acme"}])
def test_tenants_of_others_are_left_alone(
    labels: dict[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server({"default": None, "acme": labels, "hooli": {"demo": "yes"}})
    monkeypatch.setattr(demo, "Api", lambda *_: server)
    (tmp_path / "config").touch()
    assert demo.main([str(tmp_path / "config")]) == 1
    assert "error: tenant acme: made by somebody else" in capsys.readouterr().err
    assert server.written == 0


def test_its_own_are_filled_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = Server({"default": None, "acme": {"demo": "yes"}})
    monkeypatch.setattr(demo, "Api", lambda *_: server)
    with pytest.raises(demo.Refused):
        demo.fill(tmp_path)
    assert server.written == 1
