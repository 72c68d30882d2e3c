"""What browsers send, in a few words."""

from __future__ import annotations

import pytest

from controlplane.console.useragents import readable

KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"
LINUX, WINDOWS = "Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
MAC, ANDROID = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)",
    "Mozilla/5.0 (Linux; Android 10; K)",
)
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X)"
WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
SAID = [
    (
        "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
        "Firefox 145 on Linux",
    ),
    (f"{WINDOWS} {KHTML} Chrome/142.0.0.0 Safari/537.36", "Chrome 142 on Windows"),
    (f"{WINDOWS} {KHTML} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.3595.53", "Edge 142 on Windows"),
    (f"{LINUX} {KHTML} Chrome/141.0.0.0 Safari/537.36 OPR/125.0.0.0", "Opera 125 on Linux"),
    (f"{LINUX} {KHTML} HeadlessChrome/142.0.0.0 Safari/537.36", "Chrome 142 on Linux"),
    (f"{ANDROID} {KHTML} Chrome/142.0.0.0 Mobile Safari/537.36", "Chrome 142 on Android"),
    (f"{MAC} {WEBKIT} Version/18.5 Safari/605.1.15", "Safari 18 on macOS"),
    (f"{IPHONE} {WEBKIT} Version/17.5 Mobile/15E148 Safari/604.1", "Safari 17 on iOS"),
    (f"{IPHONE} {WEBKIT} CriOS/142.0.1 Mobile/15E148 Safari/604.1", "Chrome 142 on iOS"),
    (
        f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {KHTML} Chrome/142.0.0.0",
        "Chrome 142 on ChromeOS",
    ),
    ("Mozilla/5.0 (X11; Linux x86_64) Something/1", "a browser on Linux"),
    ("curl/8.5.0", "curl 8"),
    ("python-requests/2.32.4", "python-requests 2"),
    ("Lynx", "Lynx"),
    ("Mozilla/5.0", ""),
    ("", ""),
    ("<b>hello</b>", ""),
    ("Firefox/" + "9" * 300, "Firefox 999999"),
]


@pytest.mark.parametrize(("agent", "words"), SAID)
def test_a_browser_in_words(agent: str, words: str) -> None:
    assert readable(agent) == words
