"""Which TLS a worker speaks, by handshakes with one."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import Installation
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

V1_1, V1_2, V1_3 = ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
ANY = "ALL:@SECLEVEL=0"
"""What OpenSSL needs to be told before it offers TLS 1.1 at all."""


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("tls"), prepared)
    made.start()
    yield made
    made.stop()


def client(version: ssl.TLSVersion, ciphers: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if ciphers:
        context.set_ciphers(ciphers)
    return context


def speaks(installation: Installation, context: ssl.SSLContext) -> str:
    """The version that both agree on."""
    with (
        socket.create_connection(("127.0.0.1", installation.port), PATIENCE) as plain,
        context.wrap_socket(plain) as connection,
    ):
        return connection.version() or ""


@pytest.mark.parametrize("version", [V1_2, V1_3])
def test_what_clients_offer_by_default(installation: Installation, version: ssl.TLSVersion) -> None:
    assert speaks(installation, client(version)) == version.name.replace("_", ".")


@pytest.mark.parametrize(
    ("version", "ciphers"),
    [
        (V1_1, ANY),
        (V1_2, "ECDHE+AES:!AESGCM:!AESCCM"),  # CBC
        (V1_2, "ECDHE+AESCCM"),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1")
def test_what_is_refused(installation: Installation, version: ssl.TLSVersion, ciphers: str) -> None:
    # asyncio closes the connection and may keep the alert to itself
    with pytest.raises((ssl.SSLError, ConnectionError)) as refused:
        speaks(installation, client(version, ciphers))
    if isinstance(refused.value, ssl.SSLError):
        assert "EOF" in refused.value.reason or "ALERT" in refused.value.reason, "by the server"
