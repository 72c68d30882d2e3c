"""Fixtures for every test: one embedded PostgreSQL per xdist worker, started at the first test that
asks for it.

Nothing is rolled back between tests: whoever needs objects takes a tenant of its own (fixture
``tenant``), as the product does.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
_ROOT = Path(tempfile.mkdtemp(prefix=f"polyplane-test-{_WORKER}-"))
atexit.register(shutil.rmtree, _ROOT, ignore_errors=True)
_FOR_TESTS = {"POLYPLANE_SOAK_SECONDS"}  # the one setting that is the tests' own
for _name in [
    n for n in os.environ if n.startswith(("POLYPLANE_", "DATABASE_URL")) and n not in _FOR_TESTS
]:
    del os.environ[_name]
os.environ["POLYPLANE_DATA_DIR"] = str(_ROOT / "data")
os.environ["POLYPLANE_ALLOW_UNSAFE_DATABASE"] = "true"
os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"

import django  # noqa: E402
from hypothesis import settings as hypothesis_settings  # noqa: E402

django.setup()

# A run of the suite is repeatable: the same commit gives the same answer. `make fuzz` looks for new
# examples, and remembers what failed.
hypothesis_settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
hypothesis_settings.register_profile("search", deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``shared`` skip where ../shared is absent."""
    if SHARED.is_dir():
        return
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.skip(reason=f"{SHARED} (facts, recordings) is not there"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory with facts, recordings, CRDs and manifests."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} (facts, recordings) is not there")
    return SHARED


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A running PostgreSQL with all migrations applied; the value is the libpq connection string of
    the workers' role, which sees a tenant's rows only when it names the tenant. Not durable: fsync
    is off."""
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from controlplane.database import conninfo
    from controlplane.datadir import DataDir
    from controlplane.embedded.server import EmbeddedServer

    server = EmbeddedServer(DataDir.from_environment(), durable=False)
    server.start()
    try:
        call_command("migrate", verbosity=0)
        yield conninfo({**settings.DATABASES["default"], "OPTIONS": {}})
    finally:
        connections.close_all()
        server.stop()


@pytest.fixture(scope="session")
def owner(postgres: str) -> str:
    """The libpq connection string of the database's owner, who sees everything."""
    from django.conf import settings

    from controlplane.database import OWNER, conninfo

    return conninfo({**settings.DATABASES[OWNER], "OPTIONS": {}})


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that an installation may begin as (`Installation`'s ``like``)."""
    from tests.support.prepared import prepared

    base = tmp_path_factory.getbasetemp()
    return prepared(base if _WORKER == "main" else base.parent)
