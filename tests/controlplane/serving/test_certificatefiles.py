"""The files of a worker's certificate, renewed while it serves."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from controlplane.serving.certificatefiles import CertificateFiles
from tests.support.webhooks import certificate


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "tls.crt", tmp_path / "tls.key"


def put(files: tuple[Path, Path]) -> int:
    """A new pair; the certificate's serial number."""
    for file, content in zip(files, certificate("localhost"), strict=True):
        file.with_suffix(".new").write_bytes(content)
        file.with_suffix(".new").rename(file)
    return x509.load_pem_x509_certificate(files[0].read_bytes()).serial_number


def serving(files: tuple[Path, Path]) -> tuple[ssl.SSLContext, CertificateFiles]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context, CertificateFiles(context, *files)


def shown(server: ssl.SSLContext) -> int:
    """The serial number of what a client is shown."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(back, there)
    peer = server.wrap_bio(there, back, server_side=True)
    for _ in range(3):
        for end in (client, peer):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    held = client.getpeercert(binary_form=True)
    assert held is not None
    return x509.load_der_x509_certificate(held).serial_number


def test_a_new_certificate_is_shown_from_the_next_look_on(files: tuple[Path, Path]) -> None:
    first = put(files)
    context, followed = serving(files)
    followed.look()
    assert shown(context) == first
    second = put(files)
    assert shown(context) == first
    followed.look()
    assert shown(context) == second != first


def test_what_cannot_be_used_changes_nothing(
    files: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    first = put(files)
    context, followed = serving(files)
    good = [file.read_bytes() for file in files]
    for half in (certificate("localhost")[0], b"", b"no certificate"):
        files[0].write_bytes(half)
        with caplog.at_level(logging.ERROR, "polyplane.serving"):
            followed.look()
        assert "cannot be used" in caplog.text
        caplog.clear()
        followed.look()
        assert shown(context) == first and not caplog.text, "told once"
    files[0].unlink()
    followed.look()
    assert shown(context) == first
    for file, content in zip(files, good, strict=True):
        file.write_bytes(content)
    second = put(files)
    followed.look()
    assert shown(context) == second


def test_a_link_that_leads_elsewhere_is_followed(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """As a mounted secret changes: ``..data`` becomes another directory."""
    serials = []
    for version in ("one", "two"):
        (tmp_path / version).mkdir()
        serials.append(put((tmp_path / version / "tls.crt", tmp_path / version / "tls.key")))
    (tmp_path / "data").symlink_to("one")
    for file in files:
        file.symlink_to(Path("data", file.name))
    context, followed = serving(files)
    (tmp_path / "data2").symlink_to("two")
    os.replace(tmp_path / "data2", tmp_path / "data")
    followed.look()
    assert shown(context) == serials[1] != serials[0]
