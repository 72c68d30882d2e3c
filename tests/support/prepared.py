"""A data directory that has been started once, for tests whose subject is not the first start: one
for all processes of a run of pytest, of which each installation takes a copy."""

from __future__ import annotations

import fcntl
from pathlib import Path

from tests.support.installation import Installation, eventually

_LAST = (
    "/clusters/demo/api/v1/namespaces/shop/serviceaccounts/default",
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
)
"""What controllers make some time after the start."""


def prepared(root: Path) -> Path:
    """``root``: the same for all processes of the run. Whoever comes first makes it, the others
    wait."""
    path = root / "prepared"
    with (root / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            making = root / "preparing"
            making.mkdir()
            installation = Installation(making)
            installation.env["POLYPLANE_WORKERS"] = "1"
            installation.start()
            eventually(lambda: all(installation.request("GET", part)[0] == 200 for part in _LAST))
            assert installation.stop() == 0, installation.output()[-3000:]
            making.rename(path)
    return path / "data"
