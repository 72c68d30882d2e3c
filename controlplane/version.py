"""Which Polyplane this is, and which Kubernetes release its API follows."""

from __future__ import annotations

import json

VERSION = "0.1.0"
"""The package's version; `pyproject.toml` takes it from here."""
KUBERNETES = "v1.36.2"
"""The release of kube-apiserver whose behaviour is the contract (docs/compatibility.md)."""
GIT_VERSION = f"{KUBERNETES}+polyplane-{VERSION}"
"""What `/version` and the build metrics call the server."""


def describe(*, as_json: bool = False) -> str:
    if as_json:
        return json.dumps({"version": VERSION, "kubernetes": KUBERNETES}, indent=2)
    return f"polyplane {VERSION} (Kubernetes API {KUBERNETES})"
