"""TLS takes any client certificate or none, and says whose it would like."""

from __future__ import annotations

import _ssl
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from apiserver.authn.clientca import NAME
from apiserver.authn.clientcertificates import Presented
from apiserver.endpoints.request import CLIENT_CERTIFICATE
from controlplane.certificates import client_authorities
from controlplane.serving.clientcertificates import ask, extension
from tests.support.clientcertificates import PEM, Authority, key, key_pem, name, unsigned

KNOWN, STRANGER = Authority("known"), Authority("stranger")
BOTH = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


class Transport:
    def __init__(self, connection: ssl.SSLObject) -> None:
        self._connection = connection

    def get_extra_info(self, what: str) -> Any:
        return self._connection if what == "ssl_object" else None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    certificate = KNOWN.sign(unsigned(name("localhost")))
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(certificate.public_bytes(PEM) + key_pem(key()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    assert ask(context, client_authorities())
    return context


def client(tmp_path: Path, version: ssl.TLSVersion, *chain: x509.Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if chain:
        path = tmp_path / "client.pem"
        path.write_bytes(b"".join(c.public_bytes(PEM) for c in chain) + key_pem(key()))
        context.load_cert_chain(path)
    return context


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[ssl.SSLObject, bytes]:
    """The server's end, and all that it said."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    said_by_server = ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, said_by_server, server_side=True)
    said, open_ = b"", {ours, theirs}
    while open_:
        for end in list(open_):
            try:
                end.do_handshake()
                open_.remove(end)
            except ssl.SSLWantReadError:
                pass
            part = said_by_server.read()
            said += part
            to_client.write(part)
    return theirs, said


@BOTH
def test_any_certificate_is_taken(
    server: ssl.SSLContext, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    signed = STRANGER.sign(unsigned(name("u")))
    chain = signed, STRANGER.certificate
    connection, _ = shake_hands(server, client(tmp_path, version, *chain))
    found = extension(Transport(connection))[CLIENT_CERTIFICATE]  # type: ignore[arg-type]
    assert isinstance(found, Presented)
    assert list(found.chain) == [c.public_bytes(Encoding.DER) for c in chain]


@BOTH
def test_none_is_needed(server: ssl.SSLContext, tmp_path: Path, version: ssl.TLSVersion) -> None:
    connection, _ = shake_hands(server, client(tmp_path, version))
    assert extension(Transport(connection)) == {}  # type: ignore[arg-type]


def test_clients_hear_whose_certificates_are_meant(server: ssl.SSLContext, tmp_path: Path) -> None:
    """In TLS 1.2, where it is to be read by all."""
    _, said = shake_hands(server, client(tmp_path, ssl.TLSVersion.TLSv1_2))
    assert NAME.public_bytes() in said
    assert STRANGER.name.public_bytes() not in said


@BOTH
def test_a_large_chain_is_not_kept(
    server: ssl.SSLContext, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    chain = [STRANGER.sign(unsigned(name("u"))), *[STRANGER.certificate] * 50]
    with pytest.raises(ssl.SSLError):
        shake_hands(server, client(tmp_path, version, *chain))


def test_nothing_is_touched_without_the_very_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is guessed wrong there is memory overwritten."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    class Wrapped:
        """As packages that replace ssl.SSLContext have it."""

        verify_mode = ssl.CERT_NONE

    wrapped: Any = Wrapped()
    assert not ask(wrapped, client_authorities())
    with monkeypatch.context() as patch:
        patch.setattr(ssl, "OPENSSL_VERSION", "OpenSSL 9.9.9 somebody else's")
        assert not ask(context, client_authorities())
    with monkeypatch.context() as patch:
        patch.setattr(_ssl, "__file__", "/nowhere/_ssl.so", raising=False)
        assert not ask(context, client_authorities())
    assert {wrapped.verify_mode, context.verify_mode} == {ssl.CERT_NONE}
    assert ask(context, client_authorities())
