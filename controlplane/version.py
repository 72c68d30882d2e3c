"""Which Polyplane this is, and which Kubernetes release its API follows."""

from __future__ import annotations

import json

VERSION = "0.1.0"
"""The package's version; `pyproject.toml` takes it from here."""
KUBERNETES = "v1.36.2"
"""The release of kube-apiserver whose behaviour is the contract (docs/compatibility.md)."""
GIT_VERSION = f"{KUBERNETES}+polyplane-{VERSION}"
"""What `/version` and the build metrics call the server."""


def describe(output: str = "text") -> str:
    """``output``: as `-o` has it."""
    said = {"version": VERSION, "kubernetes": KUBERNETES}
    if output == "json":
        return json.dumps(said, indent=2)
    if output == "yaml":
        return "\n".join(f"{name}: {value}" for name, value in said.items())
    return f"polyplane {VERSION} (Kubernetes API {KUBERNETES})"
