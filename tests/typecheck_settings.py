"""Settings under which mypy's Django plugin loads the models: the real ones, without making a data
directory."""

import os

os.environ.setdefault("POLYPLANE_SECRET_KEY", "for type checking only")

from controlplane.settings import *  # noqa: F403
