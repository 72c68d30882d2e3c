"""Why a subscription ended. A tenant whose log was compacted or restored past the watcher ends with
storage's Compacted."""

from __future__ import annotations


class WatchClosed(Exception):
    """The server stops, or the resource is served in another way now: the client may come again
    with its last version."""


class TooSlow(WatchClosed):
    """The watcher did not read."""
