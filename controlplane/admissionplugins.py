"""Which admission plugins run: POLYPLANE_ENABLE_ADMISSION_PLUGINS and
POLYPLANE_DISABLE_ADMISSION_PLUGINS, as kube-apiserver's flags of those names."""

from __future__ import annotations

from admission import names
from controlplane import environment
from controlplane.errors import OperatorError


def enabled() -> frozenset[str]:
    """Their names. Raises OperatorError."""
    on = environment.words("ENABLE_ADMISSION_PLUGINS")
    off = environment.words("DISABLE_ADMISSION_PLUGINS")
    try:
        return names.enabled(on, off)
    except names.PluginError as e:
        raise OperatorError(
            f"POLYPLANE_ENABLE_ADMISSION_PLUGINS, POLYPLANE_DISABLE_ADMISSION_PLUGINS: {e}.",
            f"write names of this list, separated by commas: {', '.join(names.ORDER)}.",
        ) from e
