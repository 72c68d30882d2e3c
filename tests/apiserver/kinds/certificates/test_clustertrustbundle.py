"""Trust bundles: off unless they are switched on; named after their signer, and full of CAs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.kinds import catalog
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.kinds.certificates import anchors
from apiserver.kinds.certificates.clustertrustbundle import LARGEST
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from tests.support.anchors import anchor
from tests.support.kindtools import cells, create, update
from tests.support.switches import serve

GROUP = "certificates.k8s.io"
BUNDLES = GroupResource(GROUP, "clustertrustbundles")
SIGNER = "example.com/foo"


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.ENABLED, "ClusterTrustBundle", True)
    serve(monkeypatch, GROUP, "v1beta1")


def bundle(
    name: str = "b", signer: str = "", pem: str | None = None, **metadata: Any
) -> dict[str, Any]:
    spec = {"trustBundle": anchor() if pem is None else pem}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ClusterTrustBundle",
        "metadata": {"name": name, **metadata},
        "spec": {**spec, **({"signerName": signer} if signer else {})},
    }


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1", ""])
def test_it_takes_the_gate_and_the_version(
    monkeypatch: pytest.MonkeyPatch, gate: bool, version: str
) -> None:
    monkeypatch.setitem(features.ENABLED, "ClusterTrustBundle", gate)
    if version:
        serve(monkeypatch, GROUP, version)
    found = catalog.resources().get(BUNDLES)
    if not (gate and version):
        assert found is None
        return
    assert found is not None
    assert [name for name, v in found.versions.items() if v.served] == [version]
    assert found.storage_version == "v1beta1" and not found.namespaced


@pytest.mark.parametrize("gate", [True, False])
def test_who_may_read_them_comes_with_the_gate(monkeypatch: pytest.MonkeyPatch, gate: bool) -> None:
    monkeypatch.setitem(features.ENABLED, "ClusterTrustBundle", gate)
    objects = bootstrap_objects(datetime(2026, 1, 1, tzinfo=UTC))
    found = {(o["kind"], o["metadata"]["name"]): o for o in objects}
    name = "system:cluster-trust-bundle-discovery"
    assert (("ClusterRole", name) in found) is gate
    assert (("ClusterRoleBinding", name) in found) is gate
    of_nodes = found["ClusterRole", "system:node"]["rules"]
    assert any("clustertrustbundles" in r.get("resources", ()) for r in of_nodes) is gate
    if gate:
        (subject,) = found["ClusterRoleBinding", name]["subjects"]
        assert subject["name"] == "system:serviceaccounts"


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    ("obj", "messages"),
    [
        (bundle(), []),
        (bundle("example.com:foo:b", SIGNER), []),
        (bundle("example.com:foo:" + "b" * 253, SIGNER), []),
        (
            bundle("b:c"),
            [
                'metadata.name: Invalid value: "b:c": ClusterTrustBundle without signer name must '
                'not have ":" in its name'
            ],
        ),
        (
            bundle("b", SIGNER),
            [
                'metadata.name: Invalid value: "b": ClusterTrustBundle for signerName '
                "example.com/foo must be named with prefix example.com:foo:"
            ],
        ),
        (
            bundle("foo:b", "foo"),
            [
                'spec.signerName: Invalid value: "foo": must be a fully qualified domain and path '
                "of the form 'example.com/signer-name'"
            ],
        ),
        (
            bundle(pem=""),
            [
                'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor '
                "must be provided"
            ],
        ),
        (
            bundle(pem="x" * (LARGEST + 1)),
            [f"spec.trustBundle: Too long: may not be more than {LARGEST} bytes"],
        ),
    ],
)
def test_new_ones(obj: dict[str, Any], messages: list[str]) -> None:
    assert create(obj).messages == messages


@pytest.mark.usefixtures("on")
def test_a_name_is_the_signers_and_then_one_of_dns() -> None:
    (wrong,) = create(bundle("example.com:foo:B_", SIGNER)).messages
    assert wrong.startswith('metadata.name: Invalid value: "example.com:foo:B_": a lowercase RFC')
    assert create(bundle("", SIGNER, generateName="example.com:foo:x-")).messages == []
    (wrong,) = create(bundle("", generateName="x:")).messages
    assert wrong.startswith('metadata.generateName: Invalid value: "x:"')


@pytest.mark.usefixtures("on")
def test_what_changes() -> None:
    old = create(bundle("example.com:foo:b", SIGNER, pem="unreadable")).obj
    labelled = bundle("example.com:foo:b", SIGNER, pem="unreadable", labels={"a": "b"})
    assert update(labelled, old).messages == []  # what does not change is not read again
    (wrong,) = update(bundle("example.com:foo:b", SIGNER, pem="else"), old).messages
    assert "at least one trust anchor" in wrong
    other = bundle("example.com:foo:b", "example.com/bar", pem="unreadable")
    wrongs = update(other, old).messages
    assert [w.partition(":")[0] for w in wrongs] == ["metadata.name", "spec.signerName"]
    assert wrongs[1].endswith("field is immutable")


@pytest.mark.usefixtures("on")
def test_its_row() -> None:
    assert cells(bundle("b")) == {"Name": "b", "SignerName": "<none>"}
    assert cells(bundle("b", SIGNER)) == {"Name": "b", "SignerName": SIGNER}


# --- anchors --------------------------------------------------------------------------------------
ONE, TWO = anchor("one"), anchor("two")
NO_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"
NO_BASE64 = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"
KEY = ONE.replace("CERTIFICATE", "EC PRIVATE KEY")
HEADED = ONE.replace("-----\n", "-----\nA: b\n\n", 1)


@pytest.mark.parametrize(
    ("pem", "problems"),
    [
        (ONE, []),
        (f"text\n{ONE}more text\n{TWO}", []),
        (ONE.replace("\n", "\r\n"), []),
        ("", ["at least one trust anchor must be provided"]),
        (NO_BASE64, ["at least one trust anchor must be provided"]),
        (ONE + TWO + ONE, ["duplicate trust anchor (indices [0 2])"]),
        (ONE + NO_CERTIFICATE, ["entry 1 does not parse as X.509"]),
        (NO_BASE64 + KEY, ["entry 0 has bad block type: EC PRIVATE KEY"]),
        (HEADED, ["entry 0 has PEM block headers"]),
        (anchor(authority=False), ["entry 0 does not have the CA bit set"]),
        (
            anchor(authority=None) + KEY + ONE + ONE,
            [
                "entry 0 does not have the CA bit set",
                "entry 1 has bad block type: EC PRIVATE KEY",
            ],
        ),
    ],
)
def test_anchors(pem: str, problems: list[str]) -> None:
    assert anchors.problems(pem) == problems
