"""Volumes that stand inside a VolumeAttachment."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.fielderrors import FieldPath
from apiserver.kinds.catalog import resources
from apiserver.kinds.common.volumespec import inline_spec_errors
from apiserver.meta.gvk import GroupResource

CSI = {"driver": "d.example.com", "volumeHandle": "h"}
GOOD: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "csi": CSI}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, []),
        ({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}, []),
        ({"claimRef": {"name": "c"}}, ["claimRef: Forbidden: may not be specified{}"]),
        ({"capacity": {"storage": "1Gi"}}, ["capacity: Forbidden: may not be specified{}"]),
        ({"storageClassName": "c"}, ["storageClassName: Forbidden: may not be specified{}"]),
        ({"nodeAffinity": {}}, ["nodeAffinity: Forbidden: may not be specified{}"]),
        (
            {"persistentVolumeReclaimPolicy": "Delete"},
            ["persistentVolumeReclaimPolicy: Forbidden: may only be Retain{}"],
        ),
        (
            {"volumeMode": "Block"},
            ["volumeMode: Forbidden: may not specify volumeMode other than Filesystem{}"],
        ),
        (
            {"csi": None, "nfs": {"server": "s", "path": "/"}, "accessModes": []},
            ["csi: Required value: has to be specified{}", "accessModes: Required value"],
        ),
        (
            {"csi": None, "nfs": {"server": "s", "path": "/"}, "volumeAttributesClassName": ""},
            ["csi: Required value: has to be specified{}"],
        ),
        (
            {"hostPath": {"path": "/a"}},
            ["csi: Forbidden: may not specify more than 1 volume type"],
        ),
    ],
)
def test_what_may_be_there(more: dict[str, Any], expected: list[str]) -> None:
    errors = [str(e) for e in inline_spec_errors({**GOOD, **more}, FieldPath("s"))]
    assert errors == [
        f"s.{text}".replace("{}", " in the context of inline volumes") for text in expected
    ]


def test_the_attachment_asks_and_defaults_it() -> None:
    resource = resources()[GroupResource("storage.k8s.io", "volumeattachments")]
    spec = {"source": {"inlineVolumeSpec": {"rbd": {"monitors": ["m"], "image": "i"}}}}
    obj, _ = resource.decode(resource.versions["v1"], {"spec": spec})
    inline = obj["spec"]["source"]["inlineVolumeSpec"]
    assert (inline["rbd"]["pool"], inline["rbd"]["user"]) == ("rbd", "admin")
    errors = [str(e) for e in resource.hooks.validate(obj, None)]  # type: ignore[arg-type]
    assert any("inlineVolumeSpec.csi: Required value" in error for error in errors)
