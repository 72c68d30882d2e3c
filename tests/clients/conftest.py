"""One real installation (`manage.py up`, two workers) for each module that tests with clients of
others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import Installation
from tests.support.kubectl import Kubectl


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("clients"), prepared)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def kubectl(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(installation.data / "admin.kubeconfig", tmp_path_factory.mktemp("home"))


@pytest.fixture
def ns(kubectl: Kubectl) -> Iterator[str]:
    with kubectl.namespace() as name:
        yield name
