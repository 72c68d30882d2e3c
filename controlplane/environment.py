"""Settings from the environment: names begin with POLYPLANE_, and every secret can come from a file
named by NAME_FILE."""

from __future__ import annotations

import difflib
import os
import re
import sys
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from controlplane.errors import OperatorError

PACKAGE = Path(__file__).resolve().parent
REPOSITORY = PACKAGE.parent
"""The clone. After `pip install` it is site-packages, where only packages lie: see `clone()`."""

NAMES = frozenset(
    {
        "ADMISSION_CONTROL_CONFIG_FILE",
        "ADVERTISE_ADDRESS",
        "DISABLE_ADMISSION_PLUGINS",
        "ENABLE_ADMISSION_PLUGINS",
    }
    | {
        "ALLOWED_HOSTS",
        "ALLOW_UNSAFE_DATABASE",
        "ANONYMOUS_TENANTS",
        "AUTHORIZATION_CONFIG_FILE",
        "AUTHORIZATION_MODE",
        "BIND",
        "BOARD_FD",
        "BODY_TIMEOUT_SECONDS",
        "EVENT_TTL_SECONDS",
    }
    | {"CLIENT_CA_FILE"}
    | {
        "CONSOLE_OIDC_CA_FILE",
        "CONSOLE_OIDC_CLIENT_ID",
        "CONSOLE_OIDC_CLIENT_SECRET",
        "CONSOLE_OIDC_CLIENT_SECRET_FILE",
        "CONSOLE_OIDC_GROUPS_CLAIM",
        "CONSOLE_OIDC_ISSUER",
        "CONSOLE_OIDC_REDIRECT_URI",
        "CONSOLE_OIDC_ROLES",
        "CONSOLE_OIDC_SCOPES",
        "CONSOLE_OIDC_USERNAME_CLAIM",
        "CONSOLE_PASSWORD_LOGIN",
    }
    | {
        "AUTHENTICATION_CONFIG_FILE",
        "AUTHENTICATION_TOKEN_WEBHOOK_CACHE_SECONDS",
        "AUTHENTICATION_TOKEN_WEBHOOK_CONFIG_FILE",
        "AUTHENTICATION_TOKEN_WEBHOOK_VERSION",
        "BOOTSTRAP_TOKEN_AUTH",
    }
    | {
        "REQUESTHEADER_ALLOWED_NAMES",
        "REQUESTHEADER_CLIENT_CA_FILE",
        "REQUESTHEADER_EXTRA_HEADERS_PREFIX",
        "REQUESTHEADER_GROUP_HEADERS",
        "REQUESTHEADER_UID_HEADERS",
        "REQUESTHEADER_USERNAME_HEADERS",
    }
    | {"CSRF_TRUSTED_ORIGINS", "DATA_DIR", "DEBUG", "FEATURE_GATES", "HEADER_TIMEOUT_SECONDS"}
    | {"ENABLE_PRIORITY_AND_FAIRNESS"}
    | {"HEARTBEAT_FD", "HINTS_URL", "HINTS_URL_FILE", "HSTS_SECONDS", "HUNG_AFTER_SECONDS"}
    | {"KEEP_ALIVE_SECONDS", "LIVEZ_GRACE_SECONDS", "LOG_LEVEL", "MAX_CONNECTIONS"}
    | {"METRICS_DIR"}
    | {
        "MAX_CONNECTIONS_PER_ADDRESS",
        "MIGRATION_DATABASE_URL",
        "MIGRATION_DATABASE_URL_FILE",
        "PORT",
        "POSTGRES_USER",
        "RUNTIME_CONFIG",
        "SECRET_KEY",
    }
    | {
        "AUDIT_LOG_PATH",
        "AUDIT_POLICY_FILE",
        "AUDIT_READS_PERCENT",
        "AUDIT_RETENTION_DAYS",
        "AUDIT_ROWS_PER_SECOND",
        "AUDIT_WEBHOOK_CONFIG_FILE",
    }
    | {"SECRET_KEY_FILE", "SERVICE_ACCOUNT_ISSUER", "SHUTDOWN_DELAY_SECONDS", "SHUTDOWN_SECONDS"}
    | {
        "TENANT_DOMAIN",
        "TENANT_MAX_BYTES",
        "TENANT_MAX_DEFINITIONS",
        "TENANT_MAX_HOUR_BYTES",
        "TENANT_MAX_LOG_BYTES",
        "TENANT_MAX_OBJECTS",
        "TENANT_PORTS",
    }
    | {"STALL_SECONDS", "TENANT_MAX_INFLIGHT", "TENANT_MAX_UNREAD_BYTES", "TENANT_MAX_WATCHES"}
    | {"TLS_CA_FILE", "TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_NAMES", "TRUSTED_PROXIES"}
    | {"WEBHOOK_ALLOWED_NETWORKS", "WEBHOOK_DENIED_NETWORKS", "WEBHOOK_LOOPBACK"}
    | {"WEBHOOK_TIMEOUT_SECONDS", "WORKERS"}
)
"""Every variable that Polyplane reads, less the prefix. A test holds them to the code and to
docs/operations.md."""
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_DOMAIN = 253 - 64
_LAST_PORT = 65535
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


def clone() -> bool:
    """Whether this code runs from a clone of the repository, not from an installed package."""
    return (REPOSITORY / "manage.py").is_file()


def resources(name: str) -> Path:
    """The folder ``fixtures`` or ``templates``: at the top of a clone, inside the package that
    setuptools installs."""
    return (REPOSITORY if clone() else PACKAGE) / name


def command(*words: str) -> list[str]:
    """The command line of another process of this installation."""
    start = [str(REPOSITORY / "manage.py")] if clone() else ["-m", "controlplane"]
    return [sys.executable, *start, *words]


_CLASSIFIED = frozenset(
    {"CONSOLE_OIDC_CLIENT_SECRET", "HINTS_URL", "MIGRATION_DATABASE_URL", "SECRET_KEY"}
)
_INTERNAL = frozenset({"BOARD_FD", "HEARTBEAT_FD", "METRICS_DIR"})
"""Said by the supervisor to its workers."""


def flags() -> dict[str, str]:
    """All settings as an operator may read them, by names like flags' (``feature-gates``); "" is
    one that is not set, and secrets are CLASSIFIED."""
    return {
        name.lower().replace("_", "-"): "CLASSIFIED"
        if text(name) and name in _CLASSIFIED
        else text(name)
        for name in NAMES - _INTERNAL
    }


def check_names() -> None:
    """Raises OperatorError for a POLYPLANE_ variable that is a misspelt setting: it would be
    ignored, silently, for ever."""
    for variable in sorted(os.environ):
        name = variable.removeprefix("POLYPLANE_")
        if name == variable or name in NAMES:
            continue
        if near := difflib.get_close_matches(name, NAMES, n=1, cutoff=0.7):
            raise OperatorError(
                f"{variable} is no setting.",
                f"did you mean POLYPLANE_{near[0]}? Otherwise unset {variable}.",
            )
        sys.stderr.write(f"polyplane: {variable} is set, but is no setting; it is ignored\n")


def log_level(default: str) -> str:
    """The name of a level of Python's logging."""
    level = text("LOG_LEVEL", default).upper() or default
    if level not in LOG_LEVELS:
        raise OperatorError(
            f"POLYPLANE_LOG_LEVEL={level!r} is no level.",
            f"set it to one of {', '.join(LOG_LEVELS)}.",
        )
    return level


def text(name: str, default: str = "") -> str:
    return os.environ.get(f"POLYPLANE_{name}", default)


def number(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    raw = text(name)
    if not raw:
        return default
    if not raw.isascii() or not raw.isdigit() or not least <= int(raw) <= most:
        raise OperatorError(
            f"POLYPLANE_{name}={raw!r} is not a number from {least} to {most}.",
            f"unset POLYPLANE_{name} (default {default}).",
        )
    return int(raw)


def flag(name: str, default: bool = False) -> bool:
    raw = text(name).lower()
    if raw in _TRUE:
        return True
    if raw in _FALSE:
        return default if raw == "" else False
    raise OperatorError(
        f"POLYPLANE_{name}={raw!r} is neither true nor false.",
        f"set POLYPLANE_{name} to true or false.",
    )


def words(name: str) -> list[str]:
    """A comma-separated list, without blanks."""
    return [w.strip() for w in text(name).split(",") if w.strip()]


def networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """A comma-separated list of networks and addresses."""
    try:
        return tuple(ip_network(word, strict=False) for word in words(name))
    except ValueError as e:
        raise OperatorError(
            f"POLYPLANE_{name}: {e}.", "write networks like 10.0.0.0/8,fd00::/8."
        ) from e


def certificates(name: str) -> str:
    """What is in the file that the setting names, certificates in PEM; "" where it names none."""
    path = text(name)
    if not path:
        return ""
    from cryptography import x509  # takes a moment

    try:
        pem = Path(path).read_text()
        x509.load_pem_x509_certificates(pem.encode())
    except (OSError, ValueError) as e:
        raise OperatorError(
            f"POLYPLANE_{name}={path!r} has no certificates: {e}",
            "name a file of certificates in PEM, or unset it.",
        ) from None
    return pem


def domain(name: str) -> str:
    """A name of the DNS in lower case, below which there is room for one more label."""
    raw = text(name).strip().lower().removesuffix(".")
    if raw and (len(raw) > _LONGEST_DOMAIN or not _DOMAIN.fullmatch(raw)):
        raise OperatorError(
            f"POLYPLANE_{name}={raw!r} is no domain.", "write a name like api.example.com."
        )
    return raw


def port_of_all() -> int:
    """Of the server, for all tenants."""
    return number("PORT", 6443, least=1, most=_LAST_PORT)


def tenant_ports() -> dict[str, int]:
    """The port of its own that a tenant has, by the tenant's name. No tenant need be there yet."""
    ports: dict[str, int] = {}
    shared = port_of_all()
    for word in words("TENANT_PORTS"):
        name, _, port = word.partition("=")
        good = _LABEL.fullmatch(name) and port.isascii() and port.isdigit()
        if not good or not 1 <= int(port) <= _LAST_PORT:
            problem = f"{word!r} is no tenant and port"
        elif name in ports:
            problem = f"tenant {name} has two ports"
        elif int(port) == shared:
            problem = f"port {port} is that of all tenants (POLYPLANE_PORT)"
        elif int(port) in ports.values():
            problem = f"port {port} has two tenants"
        else:
            ports[name] = int(port)
            continue
        raise OperatorError(
            f"POLYPLANE_TENANT_PORTS: {problem}.", "write acme=7001,demo=7002, each of them once."
        )
    return ports


def secret(name: str) -> str:
    """The value of ``name``, or the stripped content of the file that ``name_FILE`` names, or "";
    full variable names."""
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text().strip()
        except OSError as e:
            raise OperatorError(
                f"{name}_FILE={path} cannot be read: {e.strerror}.",
                "correct the path or its permissions.",
            ) from e
    return ""


def data_dir() -> Path:
    """Where everything that the installation keeps on disk lives; not created here. Unset: `.data`
    in a clone, and for an installed package the user's state directory (XDG Base Directory
    Specification)."""
    if given := text("DATA_DIR"):
        return Path(given).expanduser().absolute()
    if clone():
        return REPOSITORY / ".data"
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser().absolute() / "polyplane"


def default_workers() -> int:
    return number(
        "WORKERS",
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        least=1,
        most=1024,
    )
