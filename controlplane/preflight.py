"""What can be known to be wrong before anything is made or started.

`up` runs these checks first, so that a start that cannot succeed leaves nothing behind: no data
directory, no database, no key. Each raises OperatorError with one cause and one fix. They read the
environment only; Django is not set up yet.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from controlplane import (
    admissionfile,
    admissionplugins,
    auditing,
    authorization,
    environment,
    identityfiles,
)
from controlplane.accounttokens import service_account_issuer
from controlplane.advertised import advertised_address
from controlplane.console import oidcsettings
from controlplane.database import parse_database_url, verify
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError
from controlplane.supervisor.listener import bind, bind_tenants


def check() -> None:
    """Everything that `up` needs from outside. Raises OperatorError."""
    _check_values()
    auditing.check()
    _check_tls_files()
    if url := environment.secret("DATABASE_URL"):
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # the failure is said once, here
        verify(parse_database_url(url))
    if not _already_runs():
        host = environment.text("BIND", "127.0.0.1")
        bind(host, environment.port_of_all()).close()
        for listener in bind_tenants(host, environment.tenant_ports()).values():
            listener.close()


def _check_values() -> None:
    """Settings that are read late, in the workers or after the migrations."""
    environment.log_level("INFO")
    environment.default_workers()
    environment.tenant_ports()
    for name in (
        "MAX_CONNECTIONS",
        "SHUTDOWN_SECONDS",
        "SHUTDOWN_DELAY_SECONDS",
        "LIVEZ_GRACE_SECONDS",
        "HSTS_SECONDS",
        "EVENT_TTL_SECONDS",
    ):
        environment.number(name, 1)
    environment.number("AUTHENTICATION_TOKEN_WEBHOOK_CACHE_SECONDS", 120, most=86_400)
    for name in ("DEBUG", "ALLOW_UNSAFE_DATABASE", "BOOTSTRAP_TOKEN_AUTH", "WEBHOOK_LOOPBACK"):
        environment.flag(name)
    environment.secret("POLYPLANE_SECRET_KEY")
    oidcsettings.password_login(oidcsettings.read())
    advertised_address()
    admissionplugins.enabled()
    admissionfile.check()
    authorization.check()
    identityfiles.check([service_account_issuer()])


def _check_tls_files() -> None:
    """POLYPLANE_TLS_CERT_FILE and _KEY_FILE: both or none, readable, PEM, and made for each
    other."""
    certificate, key = environment.text("TLS_CERT_FILE"), environment.text("TLS_KEY_FILE")
    if not certificate and not key:
        return
    both = (
        "set both POLYPLANE_TLS_CERT_FILE and POLYPLANE_TLS_KEY_FILE to PEM files of one "
        "certificate, or none."
    )
    for name, path, block in (("CERT", certificate, "CERTIFICATE"), ("KEY", key, "PRIVATE KEY")):
        if not Path(path).is_file():
            raise OperatorError(f"POLYPLANE_TLS_{name}_FILE={path!r} is no file.", both)
        if not _has_block(path, block):
            problem = f'POLYPLANE_TLS_{name}_FILE={path!r} has no "-----BEGIN {block}-----".'
            raise OperatorError(problem, both)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as e:
        reason = getattr(e, "reason", None) or e.strerror or e  # OpenSSL's: KEY_VALUES_MISMATCH
        raise OperatorError(
            f"The certificate {certificate} and the key {key} cannot be used: {reason}.", both
        ) from e


def _has_block(path: str, block: str) -> bool:
    """Whether a PEM file has what OpenSSL would look for in it ("EC PRIVATE KEY" is a private key,
    too). OpenSSL itself says "PEM lib" of one that has not."""
    try:
        return f"{block}-----".encode() in Path(path).read_bytes()
    except OSError:
        return True  # what is wrong is said when it is loaded


def _already_runs() -> bool:
    """Whether another Polyplane holds the data directory: its own message says more than that of
    the port that it holds."""
    data = DataDir.from_environment()
    return data.file("lock").exists() and data.locked_by_another()
