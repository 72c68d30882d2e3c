"""kubectl polyplane as kubectl finds it: a program of that name on the PATH."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.installation import REPOSITORY
from tests.support.kubectl import Kubectl
from tests.support.waiting import PATIENCE

Plugin = Callable[..., subprocess.CompletedProcess[str]]
_SCRIPT = """#!/bin/sh
exec {python} -c 'from controlplane.kubectl.command import main; main()' "$@"
"""


def plugin(kubectl: Kubectl, folder: Path) -> Plugin:
    """Runs ``kubectl polyplane ... --context``."""
    script = folder / "kubectl-polyplane"
    script.write_text(_SCRIPT.format(python=sys.executable))
    script.chmod(0o755)

    def run(*words: str, context: str = "default") -> subprocess.CompletedProcess[str]:
        path = f"{folder}:{kubectl.env['PATH']}"
        return subprocess.run(
            [kubectl.program, "polyplane", *words, "--context", context],
            env={**kubectl.env, "PATH": path, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    return run


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """What it prints; AssertionError when it failed."""
    assert done.returncode == 0, done.stderr
    return done.stdout
