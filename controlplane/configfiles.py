"""Files of the operator's that settings name, and those that they name in turn."""

from __future__ import annotations

from pathlib import Path

import yaml

from admission.config import ConfigError, Section

LARGEST = 4 * 1024 * 1024
"""Bytes of a file; nobody writes more by hand."""


class Files:
    """Of one folder: paths are relative to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> bytes:
        """Raises ConfigError."""
        try:
            with (self._folder / path).open("rb") as file:
                data = file.read(LARGEST + 1)
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
        if len(data) > LARGEST:
            raise ConfigError(f"{path} has more than {LARGEST} bytes")
        return data

    def document(self, path: str) -> Section:
        """Of YAML or JSON. Raises ConfigError."""
        try:
            return Section(yaml.safe_load(self.read(path)))
        except (yaml.YAMLError, RecursionError) as error:
            text = " ".join(str(error).split())
            raise ConfigError(f"{path} is no YAML: {text}") from None
