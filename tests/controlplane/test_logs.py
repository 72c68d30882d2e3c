from __future__ import annotations

import logging
import re
from pathlib import Path

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.test import RequestFactory
from django.utils.module_loading import import_string
from hypothesis import given
from hypothesis import strategies as st

from controlplane.logs import LONGEST, OneLineFormatter

ROOT = Path(__file__).resolve().parents[2]
HANDLER_FILTERS = [
    import_string(settings.LOGGING["filters"][name]["()"])().filter
    for name in settings.LOGGING["handlers"]["stderr"]["filters"]
]
FORMATTER = OneLineFormatter("%(levelname)s %(name)s: %(message)s")


def formatted(message: str, error: Exception | None = None) -> str:
    info = None if error is None else (type(error), error, error.__traceback__)
    return FORMATTER.format(
        logging.LogRecord("polyplane", logging.INFO, "", 1, "%s", (message,), info)
    )


@given(st.text(st.characters(codec=None)))
def test_one_record_is_one_line(text: str) -> None:
    line = formatted(text)
    assert len(line.splitlines()) == 1 and not re.search(r"[\x00-\x1f\x7f-\x9f]", line)
    line.encode()


@given(st.text(st.characters(codec=None)))
def test_an_exception_cannot_begin_a_record(text: str) -> None:
    lines = formatted(
        "failed", ValueError(f"{text}\n2026-01-01 CRITICAL 1 polyplane: forged")
    ).splitlines()
    assert lines[0] == "INFO polyplane: failed"
    assert all(line.startswith("  | ") for line in lines[1:])


def test_what_can_be_read_stays() -> None:
    assert formatted("Größe 7 µs → “ok” \\n") == "INFO polyplane: Größe 7 µs → “ok” \\n"
    assert formatted("a\nb\x1b[2J\u202e") == "INFO polyplane: a\\nb\\x1b[2J\\u202e"


def test_lines_are_bounded() -> None:
    assert len(formatted("x" * 100_000)) < LONGEST + 100


def test_what_django_refuses_is_one_line_and_no_error() -> None:
    error = SuspiciousOperation("Filtering by data__x not allowed")
    record = logging.LogRecord(
        "django.security.DisallowedModelAdminLookup",
        logging.ERROR,
        "",
        1,
        str(error),
        (),
        (SuspiciousOperation, error, None),
    )
    record.request = RequestFactory().get("/admin/console/storedobject/?data__x=100%25")
    assert all(refuses(record) for refuses in HANDLER_FILTERS)
    assert FORMATTER.format(record) == (
        "WARNING django.security.DisallowedModelAdminLookup: "
        "/admin/console/storedobject/: Filtering by data__x not allowed"
    )


def test_other_errors_keep_their_stack() -> None:
    error = ValueError("broken")
    record = logging.LogRecord(
        "django.request", logging.ERROR, "", 1, "x", (), (ValueError, error, None)
    )
    assert all(refuses(record) for refuses in HANDLER_FILTERS)
    assert FORMATTER.format(record).splitlines() == [
        "ERROR django.request: x",
        "  | ValueError: broken",
    ]


def test_every_handler_writes_such_lines() -> None:
    handlers = settings.LOGGING["handlers"]
    formatters = {
        settings.LOGGING["formatters"][handler["formatter"]]["()"] for handler in handlers.values()
    }
    assert formatters == {"controlplane.logs.OneLineFormatter"}
    assert settings.LOGGING["loggers"]["django"]["handlers"] == []
    makes_handlers = re.compile(r"basicConfig\(|Handler\(\)|StreamHandler|addHandler|setFormatter")
    for package in ("apiserver", "admission", "controlplane"):
        for path in (ROOT / package).rglob("*.py"):
            if path.name != "settings.py":
                assert not makes_handlers.search(path.read_text()), (
                    f"{path} has a handler of its own"
                )
