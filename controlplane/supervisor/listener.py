"""The listening socket that all workers share, and who has the port when it is taken."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from controlplane.errors import OperatorError

_BACKLOG = 2048
_PATIENCE = 5.0  # seconds for workers of a killed supervisor to go


def bind(host: str, port: int, tenant: str = "") -> socket.socket:
    """A bound TCP socket that does not listen yet; IPv6 when ``host`` has a colon. ``tenant``:
    whose port it is, "" for that of all. Raises OperatorError that names the port's owner."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            listener.bind((host, port))
            _probe(family, host, port)
            return listener
        except OSError as e:
            owner = port_owner(port) if e.errno == errno.EADDRINUSE else None
            if owner is not None and _is_orphaned_worker(owner) and time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            listener.close()
            raise _explain(e, host, port, owner, tenant) from e


def _probe(family: int, host: str, port: int) -> None:
    """Linux lets two sockets bind one port as long as neither listens: find out before anything is
    started."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        probe.listen(1)


def listen(listener: socket.socket) -> None:
    listener.listen(_BACKLOG)
    listener.setblocking(False)


def port_owner(port: int) -> int | None:
    """The process id that listens on the port; None when it is not known (another user's process,
    no /proc)."""
    inodes = _listening_inodes(port)
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            for descriptor in folder.iterdir():
                with suppress(OSError):
                    if os.readlink(descriptor) in inodes:
                        return int(folder.parent.name)
    return None


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if (
                    fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port
                ):  # 0A: LISTEN
                    inodes.add(f"socket:[{fields[9]}]")
    return inodes


def command_of(pid: int) -> str:
    with suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode(errors="replace")
            .strip()
        )
    return ""


def _is_orphaned_worker(pid: int) -> bool:
    """A worker whose supervisor was killed; the kernel ends it a moment later."""
    with suppress(OSError, ValueError, IndexError):
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return "serve --fd" in command_of(pid) and "manage.py up" not in command_of(parent)
    return True  # it went while we looked


def bind_tenants(host: str, ports: Mapping[str, int]) -> dict[str, socket.socket]:
    """As `bind`, for the ports of single tenants; by the tenants' names."""
    with ExitStack() as opened:
        listeners = {
            tenant: opened.enter_context(bind(host, port, tenant)) for tenant, port in ports.items()
        }
        opened.pop_all()
        return listeners


def _explain(error: OSError, host: str, port: int, owner: int | None, tenant: str) -> OperatorError:
    setting = f"POLYPLANE_TENANT_PORTS={tenant}=" if tenant else "POLYPLANE_PORT="
    if error.errno == errno.EADDRINUSE:
        by = (
            f"process {owner} ({command_of(owner)[:120]})" if owner else "a process of another user"
        )
        stop = f"stop it (kill {owner})" if owner else "stop it"
        return OperatorError(
            f"Port {port} on {host} is taken by {by}.",
            f"{stop}, or choose another port: {setting}{port + 1} make run",
        )
    if error.errno == errno.EACCES:
        return OperatorError(
            f"Port {port} needs privileges that this user lacks.",
            f"choose a port above 1023: {setting}6443",
        )
    return OperatorError(
        f"The address {host}:{port} cannot be used: {error.strerror}.",
        "set POLYPLANE_BIND to an address of this machine.",
    )
