"""The file that configures admission plugins: POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE, as
kube-apiserver's ``--admission-control-config-file``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from admission import names
from admission.config import ConfigError
from controlplane import admissionplugins, environment
from controlplane.configfiles import Files
from controlplane.errors import OperatorError

if TYPE_CHECKING:
    from admission.configuration import Configurations

NAME = "POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE"
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
