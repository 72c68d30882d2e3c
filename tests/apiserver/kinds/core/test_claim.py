from __future__ import annotations

from datetime import UTC, datetime

from apiserver.kinds.base import WriteContext
from apiserver.kinds.core.persistentvolumeclaim import PersistentVolumeClaim
from apiserver.meta.objects import Object, copy_json

KIND = PersistentVolumeClaim()
CONTEXT = WriteContext("v1", datetime(2026, 1, 2, tzinfo=UTC))


def claim(**ref: str) -> Object:
    return {"metadata": {"name": "c"}, "spec": {"dataSourceRef": {"kind": "K", "name": "n", **ref}}}


def test_data_from_another_namespace_is_dropped_unless_it_is_stored() -> None:
    made = claim(namespace="other")
    KIND.prepare_create(made, CONTEXT)
    assert made["spec"] == {}
    stored = claim(namespace="other")
    changed = copy_json(stored)
    KIND.prepare_update(changed, stored, CONTEXT)
    assert changed["spec"] == stored["spec"]


def test_a_reference_inside_the_namespace_is_the_data_source_too() -> None:
    made = claim()
    KIND.prepare_create(made, CONTEXT)
    assert made["spec"]["dataSource"] == made["spec"]["dataSourceRef"]
