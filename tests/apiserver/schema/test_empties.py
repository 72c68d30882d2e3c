"""Empty lists and maps that were sent, for messages that show them."""

from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import decode
from apiserver.schema.empties import with_empties

CLAIM = schema_for(GroupVersionKind("", "v1", "PersistentVolumeClaim"))


def test_they_come_back_where_they_were() -> None:
    sent = {"spec": {"accessModes": [], "resources": {"requests": {}}, "volumeName": ""}}
    decoded = decode(CLAIM, sent)
    assert "accessModes" not in decoded.value["spec"]
    assert [e.path for e in decoded.empties] == [
        ("spec", "accessModes"),
        ("spec", "resources", "requests"),
    ]
    spec = with_empties(decoded.value, decoded.empties)["spec"]
    assert (spec["accessModes"], spec["resources"]) == ([], {"requests": {}})
    assert "accessModes" not in decoded.value["spec"]


def test_not_where_something_else_is_by_now() -> None:
    empties = decode(CLAIM, {"spec": {"accessModes": [], "resources": {"limits": {}}}}).empties
    assert with_empties({"spec": {"accessModes": ["x"]}}, empties) == {
        "spec": {"accessModes": ["x"]}
    }
