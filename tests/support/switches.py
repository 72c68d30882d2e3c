"""Versions that are off by default, switched on for a test."""

from __future__ import annotations

import pytest

from apiserver.kinds import catalog, runtimeconfig
from tests.support import kindtools


def serve(monkeypatch: pytest.MonkeyPatch, group: str, version: str) -> None:
    """As POLYPLANE_RUNTIME_CONFIG=group/version=true: for tenant catalogs that are made from now
    on, and for kindtools."""
    monkeypatch.setitem(runtimeconfig._active, (group, version, ""), True)
    resources = catalog.resources.__wrapped__()
    monkeypatch.setattr(catalog, "resources", lambda: resources)
    monkeypatch.setattr(kindtools, "resources", lambda: resources)
