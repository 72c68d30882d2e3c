#!/usr/bin/env python3
"""Installs a lock file with pip, every file of it checked against its hashes, and says how far it
has come: a first install takes a minute, and pip's own silence of that length looks like a failure.
Standard library only: it runs before anything is installed.

Usage: tools/install.py LOCKFILE
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def main(lock: str) -> int:
    """pip's exit code; its whole output is shown when it fails."""
    total = len(re.findall(r"(?m)^[A-Za-z0-9][\w.\-\[\]]*==", Path(lock).read_text()))
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]
    pip = subprocess.Popen(
        [*command, "--require-hashes", "-r", lock],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert pip.stdout is not None
    output, count = [], 0
    for line in pip.stdout:
        output.append(line)
        if line.startswith(("Collecting ", "Requirement already satisfied")):
            count += 1
            show(f"{lock}: {min(count, total)} of {total} packages")
        elif line.startswith("Installing collected"):
            show(f"{lock}: unpacking {total} packages")
    code = pip.wait()
    if code:
        sys.stderr.write("\n" + "".join(output))
    elif sys.stderr.isatty():
        sys.stderr.write("\n")
    return code


def show(text: str) -> None:
    """On a terminal one line that changes; in a log every tenth line, so that it stays readable."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[Kpolyplane: {text}")
    elif not re.search(r": \d*[1-9] of ", text):
        sys.stderr.write(f"polyplane: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
