"""The console's pages are found when the URLs are loaded; tests look at them in any order."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def pages() -> None:
    import controlplane.urls  # noqa: F401
