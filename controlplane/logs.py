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


class Refusals(logging.Filter):
    """What Django refuses as suspicious (a list that is narrowed by a column that it does not
    offer, a field too many) is the client's doing, not a fault of the server: a warning with the
    path, of one line. Django logs it as an error, with the stack of its own code."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            level = {"levelno": logging.WARNING, "levelname": "WARNING"}
            vars(record).update(level, exc_info=None, exc_text=None)
            request = getattr(record, "request", None)
            if request is not None:
                record.msg, record.args = "%s: %s", (request.path, record.getMessage())
        return True


def _behind_margin(text: str) -> str:
    return "\n".join(_MARGIN + escape(line) for line in text.split("\n"))
