"""What the operator switches: POLYPLANE_FEATURE_GATES and POLYPLANE_RUNTIME_CONFIG, applied before
anything is served.

The rules are in `apiserver.meta.features` and `apiserver.kinds.runtimeconfig`; here they meet the
environment.
"""

from __future__ import annotations

import logging

from apiserver.kinds import runtimeconfig
from apiserver.meta import features
from controlplane import environment
from controlplane.errors import OperatorError

log = logging.getLogger("polyplane.start")


def apply() -> None:
    """Raises OperatorError. A process calls it once, when Django is set up."""
    gates = environment.words("FEATURE_GATES")
    try:
        settings, warnings = features.parse(gates)
    except features.FeatureError as e:
        names = ", ".join(sorted(features.GATES))
        raise OperatorError(
            f"POLYPLANE_FEATURE_GATES: {e}.",
            f"write Name=true,Name=false with gates of this list: {names}.",
        ) from e
    for warning in warnings:
        log.warning(warning)
    features.activate(settings)
    config = environment.words("RUNTIME_CONFIG")
    if not config:
        return
    from apiserver.kinds import (
        catalog,
    )  # takes most of a second, which commands that switch nothing need not wait for

    try:
        runtimeconfig.activate(runtimeconfig.parse(config, catalog.all_versions()))
    except runtimeconfig.RuntimeConfigError as e:
        form = (
            "write group/version=false, group/version/resource=false or api/all=true, "
            "separated by commas."
        )
        raise OperatorError(f"POLYPLANE_RUNTIME_CONFIG: {e}.", form) from e
