"""The pictures in docs/console.md, and that what they show is there, fits the window and is nothing
that the browser complains of.

    CONSOLE_SCREENSHOTS=docs/img .venv/bin/python -m pytest tests/browser/test_pictures.py

takes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.consolebrowser import Console
from tools import demo

WEB = "/t/acme/apps/deployments/shop/web"
STUCK = "/t/demo/core/configmaps/shop/old-bucket?tab=stuck"
SCREENSHOTS = os.environ.get("CONSOLE_SCREENSHOTS", "")


@pytest.fixture(scope="module")
def world(console_pages: Console) -> Console:
    demo.fill(console_pages.installation.data / "admin.kubeconfig")
    return console_pages


@pytest.mark.parametrize(
    ("name", "path", "theme", "text", "keys"),
    [
        ("console-overview", "/", "light", "Newest changes", ""),
        ("console-tenant", "/t/acme/", "light", "Database", ""),
        ("console-list", "/t/acme/core/configmaps?sort=-Age", "light", "feature-flags", ""),
        ("console-custom-dark", "/t/acme/example.com/databases", "dark", "Pending", ""),
        ("console-filtered", "/t/acme/core/pods?q=Status:Pending", "light", "web-7d9c-c", ""),
        ("console-blame", WEB + "?tab=blame", "light", "horizontal-pod-autoscaler (apply)", ""),
        ("console-history", WEB + "?tab=history", "light", "Put one of these back", ""),
        ("console-past", "/t/acme/past?namespace=shop", "light", "as of now (resourceVersion", ""),
        ("console-stuck", STUCK, "light", "Remove this finalizer", ""),
        ("console-system", "/system", "light", "Settings in force", ""),
        ("console-palette", "/t/acme/core/pods", "light", "web-7d9c-a", "web"),
    ],
)
def test_a_page_that_the_handbook_shows(
    world: Console, console: Console, name: str, path: str, theme: str, text: str, keys: str
) -> None:
    console.open("/")
    console.script("localStorage.clear(); localStorage.setItem('theme', arguments[0])", theme)
    console.open(path)
    console.see(text)
    console.until(lambda: console.script("return document.querySelectorAll('.count').length > 20"))
    if keys:
        console.one(".finder").click()
        console.one("dialog.palette input").send_keys(keys)
        console.until(lambda: len(console.all("dialog.palette li")) > 3)
    wide = console.script("return document.documentElement.scrollWidth > innerWidth")
    assert not wide, "a page is no wider than the window"
    if SCREENSHOTS:
        console.picture(Path(SCREENSHOTS) / f"{name}.png")
