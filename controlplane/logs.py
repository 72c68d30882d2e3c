"""How log lines look: one record, one line, whatever clients put into paths, names and headers.

A client that could write a line feed into the log could write records of its own, and with an
escape character colour or erase what an operator sees. All handlers in the settings use this
formatter, so that no call of a logger has to think of it.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType

LONGEST = 8000
"""Characters of a record's first line."""
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends of Unicode, what turns the direction of text round, halves of
characters that no stream can encode."""
_MARGIN = "  | "


def escape(text: str) -> str:
    """``text`` on one line, with unprintable characters as Python writes them."""
    return _UNPRINTABLE.sub(lambda m: m.group().encode("unicode_escape").decode(), text)


class OneLineFormatter(logging.Formatter):
    """Tracebacks keep their lines, each behind a margin, because messages of exceptions carry what
    clients sent as well."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        text = super().formatMessage(record).rstrip("\n")
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}... ({len(text) - LONGEST} more characters)"
        return escape(text)

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return _behind_margin(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _behind_margin(stack_info)


def _behind_margin(text: str) -> str:
    return "\n".join(_MARGIN + escape(line) for line in text.split("\n"))
