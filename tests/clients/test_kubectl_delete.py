"""Deleting with kubectl: what becomes of dependents, of what a label names, and of a namespace."""

from __future__ import annotations

import pytest

from tests.support.installation import eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl, config_map

pytestmark = [pytest.mark.slow, NEEDS_KUBECTL]


def _family(kubectl: Kubectl, ns: str) -> None:
    """An owner and two dependents."""
    kubectl("create", "-n", ns, "-f", "-", stdin=config_map("owner"))
    owner = kubectl.get("cm", "owner", "-n", ns)
    for name in ("child-1", "child-2"):
        kubectl("create", "-n", ns, "-f", "-", stdin=config_map(name, owner))


def test_delete_orphans_dependents(kubectl: Kubectl, ns: str) -> None:
    _family(kubectl, ns)
    assert "deleted" in kubectl("delete", "cm", "owner", "--cascade=orphan", "-n", ns)
    assert kubectl.config_maps(ns) == {"child-1", "child-2"}
    assert "ownerReferences" not in kubectl.get("cm", "child-1", "-n", ns)["metadata"]


def test_delete_in_the_foreground_takes_dependents_first(kubectl: Kubectl, ns: str) -> None:
    _family(kubectl, ns)
    kubectl(
        "patch",
        "cm",
        "child-1",
        "-n",
        ns,
        "--type=merge",
        "-p",
        '{"metadata":{"finalizers":["example.com/hold"]}}',
    )
    kubectl("delete", "cm", "owner", "--cascade=foreground", "--wait=false", "-n", ns)
    eventually(lambda: kubectl.config_maps(ns) == {"owner", "child-1"})
    owner = kubectl.get("cm", "owner", "-n", ns)["metadata"]
    assert owner["finalizers"] == ["foregroundDeletion"] and owner["deletionTimestamp"]
    kubectl(
        "patch", "cm", "child-1", "-n", ns, "--type=merge", "-p", '{"metadata":{"finalizers":null}}'
    )
    kubectl("wait", "cm/owner", "-n", ns, "--for=delete", "--timeout=240s")
    assert kubectl.config_maps(ns) == set()


def test_delete_in_the_background_takes_dependents_afterwards(kubectl: Kubectl, ns: str) -> None:
    _family(kubectl, ns)
    kubectl("delete", "cm", "owner", "--cascade=background", "-n", ns)
    assert "owner" not in kubectl.config_maps(ns)
    eventually(lambda: kubectl.config_maps(ns) == set())


def test_delete_by_label_all_and_namespace(kubectl: Kubectl) -> None:
    kubectl.make_namespaces("doomed")
    for name in ("a", "b", "c"):
        kubectl("create", "secret", "generic", name, "-n", "doomed")
    kubectl("label", "secret", "a", "x=y", "-n", "doomed")
    assert 'secret "a" deleted' in kubectl("delete", "secret", "-l", "x=y", "-n", "doomed")
    assert kubectl("delete", "secret", "--all", "-n", "doomed").count("deleted") == 2
    kubectl("create", "cm", "rest", "-n", "doomed")
    kubectl("delete", "ns", "doomed", "--timeout=240s")  # waits until it is gone
    assert 'namespaces "doomed" not found' in kubectl.refused("get", "ns", "doomed")
    assert kubectl("delete", "ns", "doomed", "--ignore-not-found") == ""
