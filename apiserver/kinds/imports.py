"""Every file that registers a kind, one line each, sorted by group: the only place that imports them."""

from __future__ import annotations
