"""What a client is told of a conversion webhook that fails."""

from __future__ import annotations

import re
from typing import Any

from tests.support.api import Api

WHO = "conversion webhook for example.com/v1, Kind=Widget"


def expected(text: str) -> str:
    pattern = (
        re.escape(text)
        .replace("<uid>", "[0-9a-f-]{36}")
        .replace("<why>", ".+")
        .replace("<n>", "[0-9]+")
    )
    return pattern.replace("<url>", r"https://127\.0\.0\.1:\d+/convert\?timeout=\w+")


def refused(answer: tuple[int, Any], text: str) -> None:
    status, body = answer
    assert status == 500 and body["kind"] == "Status" and "reason" not in body, body
    assert re.fullmatch(expected(text), body["message"]), body["message"]


async def is_defined(api: Api) -> bool:
    return api.catalog.find(api.tenant, "example.com", "widgets") is not None
