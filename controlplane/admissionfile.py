"""The file that configures admission plugins: POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE, as
kube-apiserver's ``--admission-control-config-file``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from admission import names
from admission.config import ConfigError, Section
from controlplane import admissionplugins, environment
from controlplane.errors import OperatorError

if TYPE_CHECKING:
    from admission.configuration import Configurations

NAME = "POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE"
LARGEST = 4 * 1024 * 1024
"""Bytes of a file; nobody writes more by hand."""
_FIX = "correct the file (docs/operations.md, Configuration of admission plugins)."


def read() -> Configurations:
    """What the file says; nothing where none is named. Raises OperatorError, also where a plugin
    is enabled that cannot do without."""
    from admission import configuration  # takes a moment: see check

    path, configurations = (
        environment.text("ADMISSION_CONTROL_CONFIG_FILE"),
        configuration.Configurations(),
    )
    if path:
        files = Files(Path(path).parent)
        try:
            configurations = configuration.read(files.document(Path(path).name), files)
        except ConfigError as error:
            raise OperatorError(f"{NAME}={path}: {error}.", _FIX) from None
    _check_needy(configurations.names)
    return configurations


def check() -> None:
    """Raises OperatorError as `read`; loads plugins only if there is anything to read."""
    if environment.text("ADMISSION_CONTROL_CONFIG_FILE"):
        read()
    else:
        _check_needy(frozenset())


def _check_needy(configured: frozenset[str]) -> None:
    if lacking := sorted(admissionplugins.enabled() & names.NEEDY - configured):
        raise OperatorError(
            f"Admission plugin {lacking[0]} is enabled and has no configuration.",
            f"give it one in the file that {NAME} names, or do not enable it.",
        )


class Files:
    """Paths are relative to the folder of the configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> bytes:
        try:
            with (self._folder / path).open("rb") as file:
                data = file.read(LARGEST + 1)
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
        if len(data) > LARGEST:
            raise ConfigError(f"{path} has more than {LARGEST} bytes")
        return data

    def document(self, path: str) -> Section:
        try:
            return Section(yaml.safe_load(self.read(path)))
        except yaml.YAMLError as error:
            text = " ".join(str(error).split())
            raise ConfigError(f"{path} is no YAML: {text}") from None
