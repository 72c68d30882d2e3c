"""The ASGI application: the API through its thin entry, the console through Django's own
handler."""

from __future__ import annotations

import os
from typing import cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

from django.core.asgi import get_asgi_application

console = get_asgi_application()  # sets Django up; the imports below need its settings

from apiserver.endpoints.entry import Application, Entry  # noqa: E402
from controlplane.console.gateway import Gateway  # noqa: E402
from controlplane.console.static import StaticFiles  # noqa: E402
from controlplane.wiring import start_server, stop_server  # noqa: E402

application: Entry = Entry(
    start_server,
    stop_server,
    Gateway(cast(Application, StaticFiles(console)), lambda *asked: application.identified(*asked)),
)
