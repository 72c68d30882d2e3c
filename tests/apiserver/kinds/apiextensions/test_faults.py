"""Every restriction in the schemas of gateway-api's definitions, broken once: the object is refused
at that place, in those words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from apiserver.meta.objects import Object
from tests.apiserver.kinds.apiextensions.test_definitions_in_use import gateway_resources
from tests.support.definitions import instance_errors
from tests.support.schema_values import at_path, faults, nodes, path_of, wrap

pytestmark = pytest.mark.shared


def test_each_is_refused_at_its_place(shared: Path) -> None:
    seen: Counter[str] = Counter()
    for key, resource in gateway_resources(shared).items():
        for version, served in resource.versions.items():
            for steps, schema in nodes(served.schema):
                if not steps:
                    continue
                path = path_of(steps)
                for fault in faults(schema):
                    obj: Object = wrap(served.schema, steps, fault.value)
                    obj |= {
                        "apiVersion": f"{key.group}/{version}",
                        "kind": key.kind,
                        "metadata": {"name": "a"},
                    }
                    wanted = at_path(fault.error, path)
                    assert wanted in [
                        str(e) for e in instance_errors(resource, obj, version, with_status=True)
                    ], (key, version, fault.what)
                    seen[fault.what] += 1
    assert seen["required"] > 400
    assert seen["enum"] > 90
    assert seen["pattern"] > 400
    assert sum(seen.values()) > 4000
