"""The CA and the serving certificate: names, lifetimes, renewal."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509

from apiserver.authn.clientca import NAME
from controlplane import certificates
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError
from controlplane.supervisor.supervisor import Supervisor


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    data = DataDir(tmp_path / "d")
    data.create()
    return data


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_carries_every_local_name_and_is_the_cas(data: DataDir) -> None:
    files = certificates.ensure(data)
    certificate = load(files.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", socket.gethostname()} <= set(names.get_values_for_type(x509.DNSName))
    assert {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")} <= set(
        names.get_values_for_type(x509.IPAddress)
    )
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(files.ca))
    ssl.create_default_context(cadata=files.ca.decode())
    assert data.file("ca.key").stat().st_mode & 0o777 == 0o600


def test_stays_while_it_is_good(data: DataDir) -> None:
    first = certificates.ensure(data).certificate.read_bytes()
    assert certificates.ensure(data).certificate.read_bytes() == first


def test_is_renewed_before_it_ends_and_the_ca_stays(
    data: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "_LIFE", timedelta(days=30))
    old = certificates.ensure(data)
    monkeypatch.undo()
    before = load(old.certificate)
    assert certificates.renew(data) and not certificates.renew(data), "while the server runs, too"
    new = certificates.ensure(data)
    assert load(new.certificate).serial_number != before.serial_number
    assert load(new.certificate).not_valid_after_utc > datetime.now(UTC) + timedelta(days=300)
    assert new.ca == old.ca


def test_the_supervisor_renews_it_once_an_hour(
    data: DataDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = certificates.ensure(data)
    before = load(files.certificate)
    workers = SimpleNamespace(tend=list)
    world: Any = SimpleNamespace(data=data, workers=workers, server=None, _renewal_due=0.0)
    world._renew = partial(Supervisor._renew, world)
    Supervisor._tend(world)
    assert load(files.certificate) == before and not capsys.readouterr().err, "it is good"
    monkeypatch.setattr(certificates, "_RENEW", timedelta(days=370))
    Supervisor._tend(world)
    assert load(files.certificate) == before, "an hour is not over"
    world._renewal_due = 0.0
    Supervisor._tend(world)
    assert load(files.certificate) != before
    assert "there is a new one" in capsys.readouterr().err
    data.file("ca.key").unlink()
    world._renewal_due = 0.0
    Supervisor._tend(world)
    assert "cannot be renewed" in capsys.readouterr().err


def test_new_name_gets_a_new_certificate(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates.ensure(data)
    monkeypatch.setenv("POLYPLANE_TLS_NAMES", "api.example.com, 192.0.2.7")
    names = (
        load(certificates.ensure(data).certificate)
        .extensions.get_extension_for_class(x509.SubjectAlternativeName)
        .value
    )
    assert "api.example.com" in names.get_values_for_type(x509.DNSName)
    assert ipaddress.ip_address("192.0.2.7") in names.get_values_for_type(x509.IPAddress)


def test_tenants_hosts_are_in_the_certificate(
    data: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYPLANE_TENANT_DOMAIN", "t.example.com")
    held = (
        load(certificates.ensure(data).certificate)
        .extensions.get_extension_for_class(x509.SubjectAlternativeName)
        .value
    )
    assert {"t.example.com", "*.t.example.com"} <= set(held.get_values_for_type(x509.DNSName))


def test_certificate_of_another_ca_is_replaced(data: DataDir) -> None:
    stale = certificates.ensure(data).certificate.read_bytes()
    data.file("ca.key").unlink()
    files = certificates.ensure(data)
    assert files.certificate.read_bytes() != stale
    load(files.certificate).verify_directly_issued_by(x509.load_pem_x509_certificate(files.ca))


def test_operators_own_certificate_is_used_as_it_is(
    data: DataDir, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("crt", "key"):
        (tmp_path / name).write_text(name)
    monkeypatch.setenv("POLYPLANE_TLS_CERT_FILE", str(tmp_path / "crt"))
    with pytest.raises(OperatorError, match="set both"):
        certificates.ensure(data)
    monkeypatch.setenv("POLYPLANE_TLS_KEY_FILE", str(tmp_path / "key"))
    files = certificates.ensure(data)
    assert (files.certificate, files.ca) == (tmp_path / "crt", b"")
    assert not data.file("ca.crt").exists()


def test_authorities_of_clients_must_be_there(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert certificates.client_cas() == ""
    for content in (None, "nonsense"):
        path = tmp_path / "clients.pem"
        if content is not None:
            path.write_text(content)
        monkeypatch.setenv("POLYPLANE_CLIENT_CA_FILE", str(path))
        with pytest.raises(OperatorError, match="has no certificates"):
            certificates.ensure(data)
    monkeypatch.delenv("POLYPLANE_CLIENT_CA_FILE")
    ca = certificates.ensure(data).ca.decode()
    path.write_text(ca)
    monkeypatch.setenv("POLYPLANE_CLIENT_CA_FILE", str(path))
    own, brought = certificates.client_authorities()
    assert x509.load_der_x509_certificate(own).subject == NAME
    assert x509.load_der_x509_certificate(brought) == x509.load_pem_x509_certificate(ca.encode())
