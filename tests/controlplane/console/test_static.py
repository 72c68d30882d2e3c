"""Files of the console, as browsers keep them."""

from __future__ import annotations

from django.core.asgi import get_asgi_application
from django.http.response import HttpResponseBase
from django.test import AsyncRequestFactory

from controlplane.console.static import StaticFiles

SCRIPT = "/static/console/main.js"


async def answer(path: str, **headers: str) -> HttpResponseBase:
    request = AsyncRequestFactory().get(path, headers=headers)
    found = await StaticFiles(get_asgi_application()).get_response_async(request)
    found.close()
    return found


async def test_a_browser_asks_whether_a_script_is_still_the_same() -> None:
    """Else it takes an old one for as fresh as it is old: parts of two versions make no page."""
    first = await answer(SCRIPT)
    assert (first.status_code, first["Cache-Control"]) == (200, "no-cache")
    again = await answer(SCRIPT, **{"If-Modified-Since": first["Last-Modified"]})
    assert (again.status_code, again["Cache-Control"]) == (304, "no-cache")


async def test_what_is_not_there_is_not_found() -> None:
    for path in ("/static/console/none.js", "/static/../manage.py", "/static/a%00b"):
        assert (await answer(path)).status_code == 404, path
