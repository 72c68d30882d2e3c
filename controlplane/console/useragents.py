"""What a browser says it is, in a few words: "Firefox 145 on Linux".

Everybody may send what he likes in `User-Agent`: this is for people who look for their own
browsers, and decides nothing.
"""

from __future__ import annotations

import re

_BROWSERS = (
    ("Edg", "Edge"),
    ("EdgA", "Edge"),
    ("EdgiOS", "Edge"),
    ("OPR", "Opera"),
    ("Vivaldi", "Vivaldi"),
    ("SamsungBrowser", "Samsung Internet"),
    ("FxiOS", "Firefox"),
    ("Firefox", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Chrome"),
    ("Chrome", "Chrome"),
)
"""By the product that gives each away. Those that are built on another's engine name that one, too,
so they come before it."""
_SAFARI = re.compile(r"Version/(\d+)\S* (?:\S+ )?Safari/")
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
    ("X11", "Unix"),
)
"""By a word in the first parentheses; Android says Linux as well."""
_PRODUCT = re.compile(r"([A-Za-z][\w.+-]{0,39})(?:/(\d{1,6}))?")
_ANY_BROWSER = "Mozilla"


def readable(agent: str) -> str:
    """The browser, its major version and the system, as far as they are known; of a program that is
    no browser its first product; "" where nothing is known."""
    who = _browser(agent)
    if not who:
        first = _PRODUCT.match(agent)
        if first is None:
            return ""
        if first[1] != _ANY_BROWSER:
            return _with_version(first[1], first[2])
    system = _system(agent)
    return f"{who or 'a browser'} on {system}" if system else who


def _browser(agent: str) -> str:
    for product, name in _BROWSERS:
        if found := re.search(rf"\b{product}/(\d{{1,6}})", agent):
            return _with_version(name, found[1])
    safari = _SAFARI.search(agent)
    return _with_version("Safari", safari[1]) if safari else ""


def _system(agent: str) -> str:
    platform = agent.partition("(")[2].partition(")")[0]
    return next((name for word, name in _SYSTEMS if word in platform), "")


def _with_version(name: str, version: str | None) -> str:
    return f"{name} {version}" if version else name
