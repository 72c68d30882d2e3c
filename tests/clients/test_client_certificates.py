"""Client certificates, from the request to the login: kubectl and HTTP as they come, against two
workers."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from websockets.exceptions import InvalidStatus

from apiserver.authn.signers import CLIENT
from tests.support.clientcertificates import (
    PEM,
    Authority,
    csr,
    key,
    key_pem,
    name,
    request,
    unsigned,
)
from tests.support.installation import Installation, eventually
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl
from tests.support.websockets import first_event

pytestmark = pytest.mark.slow
OPERATORS, STRANGER = Authority("operators"), Authority("stranger")
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    path = tmp_path_factory.mktemp("certificates")
    made = Installation(path, prepared)
    (path / "operators.pem").write_text(OPERATORS.pem)
    made.env["POLYPLANE_CLIENT_CA_FILE"] = str(path / "operators.pem")
    made.start()
    yield made
    made.stop()


def issued(installation: Installation, tenant: str, user: str, *groups: str) -> x509.Certificate:
    """A certificate that the tenant has signed, for `key`."""
    at = f"/clusters/{tenant}{REQUESTS}"
    asked = csr(user, name(user, *groups), CLIENT, "client auth")
    status, made = installation.request("POST", at, asked)
    assert status == 201, made
    approved = {"type": "Approved", "status": "True", "reason": "Test", "message": ""}
    made["status"] = {"conditions": [approved]}
    assert installation.request("PUT", f"{at}/{user}/approval", made)[0] == 200

    def certificate() -> Any:
        return installation.request("GET", f"{at}/{user}")[1]["status"].get("certificate")

    return x509.load_pem_x509_certificate(base64.b64decode(eventually(certificate)))


@pytest.fixture(scope="module")
def alice(installation: Installation) -> x509.Certificate:
    return issued(installation, "demo", "alice", "dev")


class Client:
    """Opens TLS with the certificates; every request on a connection of its own, so that both
    workers get some."""

    def __init__(self, installation: Installation, path: Path, *chain: x509.Certificate) -> None:
        self.port = installation.port
        self.context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
        pem = path / "client.pem"
        pem.write_bytes(b"".join(c.public_bytes(PEM) for c in chain) + key_pem(key()))
        self.context.load_cert_chain(pem)

    def status(self, path: str, token: str = "") -> int:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def who(self, tenant: str) -> Any:
        """userInfo, or the status of a refusal."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        prefix = f"/clusters/{tenant}" if tenant else ""
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", prefix + WHO, json.dumps(review), headers)
            answer = connection.getresponse()
            text = answer.read()
            return json.loads(text)["status"]["userInfo"] if answer.status == 201 else answer.status
        finally:
            connection.close()


def test_it_names_its_user_in_its_tenant_alone(
    installation: Installation, alice: x509.Certificate, tmp_path: Path
) -> None:
    client = Client(installation, tmp_path, alice)
    for _ in range(8):  # of two workers
        who = client.who("demo")
        assert (who["username"], who["groups"]) == ("alice", ["dev", "system:authenticated"])
    assert client.who("")["username"] == "alice", "the certificate says which tenant is meant"
    assert client.who("default") == 401
    assert client.who("absent") == 401
    assert client.status("/clusters/demo/api/v1/namespaces") == 403
    assert client.status("/clusters/default/api/v1/namespaces") == 401
    assert client.status("/clusters/default/livez") == 401


def test_neighbours_with_the_same_names_are_strangers(
    installation: Installation, tmp_path: Path
) -> None:
    theirs = Client(installation, tmp_path, issued(installation, "default", "boss", "ops"))
    assert theirs.who("default")["username"] == "boss"
    assert theirs.who("demo") == 401


@pytest.mark.parametrize(
    ("signed", "expected"),
    [
        (OPERATORS.sign(unsigned(name("op", "system:masters"))), 200),
        (OPERATORS.sign(unsigned(name("op"))), 403),
        (OPERATORS.sign(unsigned(name("op"), begins=-2 * HOUR)), 401),
        (OPERATORS.sign(unsigned(name("op"), begins=HOUR)), 401),
        (OPERATORS.sign(unsigned(name("op"), purpose=ExtendedKeyUsageOID.SERVER_AUTH)), 401),
        (STRANGER.sign(unsigned(name("op", "system:masters"))), 401),
    ],
    ids=["good", "no rights", "expired", "not yet", "for servers", "stranger"],
)
def test_what_others_sign(
    installation: Installation, tmp_path: Path, signed: x509.Certificate, expected: int
) -> None:
    client = Client(installation, tmp_path, signed)
    for tenant in ("default", "demo"):
        assert client.status(f"/clusters/{tenant}/api/v1/namespaces") == expected


def test_a_bad_certificate_does_not_spoil_a_good_token(
    installation: Installation, tmp_path: Path
) -> None:
    client = Client(installation, tmp_path, STRANGER.sign(unsigned(name("u"))))
    assert client.status("/api/v1/namespaces", installation.token) == 200
    assert client.status("/api/v1/namespaces", "wrong") == 401


def test_websockets_too(installation: Installation, tmp_path: Path) -> None:
    url = f"wss://127.0.0.1:{installation.port}/clusters/demo/api/v1/namespaces?watch=true"

    def watching(authority: Authority) -> ssl.SSLContext:
        signed = authority.sign(unsigned(name("op", "system:masters")))
        return Client(installation, tmp_path, signed).context

    assert first_event(url, watching(OPERATORS))["type"] == "ADDED"
    with pytest.raises(InvalidStatus):
        first_event(url, watching(STRANGER))


@NEEDS_KUBECTL
def test_kubectl_from_the_request_to_the_login(installation: Installation, tmp_path: Path) -> None:
    admin = Kubectl(installation.data / "admin.kubeconfig", tmp_path, "demo")
    encoded = base64.b64encode(request(name("bob", "dev")).public_bytes(PEM)).decode()
    spec = {"request": encoded, "signerName": CLIENT, "usages": ["client auth"]}
    admin("apply", "-f", "-", stdin={**csr("bob", name("bob"), CLIENT), "spec": spec})
    admin("certificate", "approve", "bob")
    admin("wait", "csr/bob", "--for=jsonpath={.status.certificate}", "--timeout=240s")
    held = admin("get", "csr", "bob", "-o", "jsonpath={.status.certificate}")
    assert "Approved,Issued" in admin("get", "csr", "bob")

    config = yaml.safe_load((installation.data / "admin.kubeconfig").read_text())
    user = {
        "client-certificate-data": held,
        "client-key-data": base64.b64encode(key_pem(key())).decode(),
    }
    config["users"] = [{"name": entry["name"], "user": user} for entry in config["users"]]
    (tmp_path / "bob").write_text(yaml.safe_dump(config))
    bob = Kubectl(tmp_path / "bob", tmp_path, "demo")
    who = json.loads(bob("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert (who["username"], who["groups"]) == ("bob", ["dev", "system:authenticated"])
    assert 'User "bob" cannot list' in bob.refused("get", "ns")
    admin("create", "clusterrolebinding", "devs", "--clusterrole=view", "--group=dev")
    assert "default" in eventually(lambda: bob.run("get", "ns", "-o", "name").stdout)
    assert "shop" in bob.at("default")("get", "ns"), "its server is named without a tenant"

    def authorities() -> list[x509.Certificate]:
        trust = admin.get("cm", "-n", "kube-system", "extension-apiserver-authentication")["data"]
        return x509.load_pem_x509_certificates(trust["client-ca-file"].encode())

    assert eventually(lambda: authorities()[1:]) == [OPERATORS.certificate]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(held))
    certificate.verify_directly_issued_by(authorities()[0])
