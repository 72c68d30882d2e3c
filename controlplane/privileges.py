"""Whom PostgreSQL runs as. It refuses to run as root, so under root its processes drop to an
unprivileged account.

The account is, in this order: the owner of an existing cluster, POLYPLANE_POSTGRES_USER,
``postgres``, ``nobody`` (initdb wants an account that has a name). The data directory stays 0700
and belongs to that account, so that its processes can walk through it; keys inside are 0600 and
root's. The way to the data directory and to the binaries may be closed to that account (a clone in
/root): only then the processes keep one capability, CAP_DAC_READ_SEARCH, or CAP_DAC_OVERRIDE where
a container has taken the first away.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controlplane import environment
from controlplane.errors import OperatorError

_PR_SET_PDEATHSIG, _PR_CAPBSET_READ, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = (
    1,
    23,
    28,
    47,
    2,
)
_SECBIT_NO_SETUID_FIXUP = (
    4  # setuid keeps capabilities, and access(2), by which initdb looks for postgres, counts them
)
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2
_CAPABILITY_VERSION_3 = 0x20080522


@dataclass(frozen=True, slots=True)
class Account:
    """capability: the one that the account's processes keep, -1 for none."""

    name: str
    uid: int
    gid: int
    capability: int = -1


def choose_account(cluster: Path) -> Account | None:
    """The account for the cluster directory (which need not exist), None when this process is not
    root and needs no other."""
    if os.geteuid() != 0:
        return None
    owner = cluster.stat().st_uid if cluster.exists() else 0
    name = environment.text("POSTGRES_USER")
    for entry in [*_by_uid(owner), *_by_name(name), *_by_name("postgres"), *_by_name("nobody")]:
        if entry.pw_uid != 0:
            return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise OperatorError(
        "PostgreSQL refuses to run as root, and no account postgres or nobody exists to run it as.",
        "useradd --system polyplane, then set POLYPLANE_POSTGRES_USER=polyplane.",
    )


def trusted_owners() -> set[int]:
    """User ids whose files this process uses as its own: its own, and under root also the account
    that PostgreSQL would run as. An account that POLYPLANE_POSTGRES_USER names is trusted because
    the operator says so."""
    me = os.geteuid()
    if me != 0:
        return {me}
    names = (environment.text("POSTGRES_USER"), "postgres", "nobody")
    return {me, *(entry.pw_uid for name in names for entry in _by_name(name))}


def _by_name(name: str) -> list[pwd.struct_passwd]:
    try:
        return [pwd.getpwnam(name)] if name else []
    except KeyError:
        return []


def _by_uid(uid: int) -> list[pwd.struct_passwd]:
    try:
        return [pwd.getpwuid(uid)] if uid else []
    except KeyError:
        return []


def with_capability(account: Account, paths: list[Path]) -> Account:
    """The account as it can reach all of ``paths``: unchanged when it can by itself, else with one
    capability."""
    if all(_reachable(account, path) for path in paths):
        return account
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if sys.platform == "linux" and _libc().prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) == 1:
            return Account(account.name, account.uid, account.gid, capability)
    raise OperatorError(
        f"PostgreSQL runs as {account.name}, which cannot reach {paths[0]}: a directory on the way "
        f"is closed to it.",
        "move the clone or POLYPLANE_DATA_DIR to a directory that others may enter, or start "
        "Polyplane as a plain user.",
    )


def _reachable(account: Account, path: Path) -> bool:
    """Whether mode bits let the account walk to ``path`` (ACLs are not looked at: a wrong no only
    costs a capability)."""
    for parent in path.resolve().parents:
        s = parent.stat()
        bit = 0o100 if s.st_uid == account.uid else 0o010 if s.st_gid == account.gid else 0o001
        if not s.st_mode & bit:
            return False
    return True


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def die_with_parent(signum: int) -> None:
    """Linux: the kernel sends ``signum`` to this process when its parent ends, however it ends."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)


def become(
    account: Account | None, parent_death_signal: signal.Signals | None = None
) -> Callable[[], None]:
    """A ``preexec_fn`` that drops to the account for good and asks for the signal (after the drop,
    which would clear it)."""
    libc = _libc()

    def drop() -> None:
        os.umask(0o077)
        if account is not None:
            os.setgroups([])
            os.setgid(account.gid)
            if account.capability >= 0:
                libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
            os.setuid(account.uid)
            if account.capability >= 0:
                _keep_only(libc, account.capability)
        if parent_death_signal is not None:
            die_with_parent(parent_death_signal)

    return drop


def _keep_only(libc: ctypes.CDLL, capability: int) -> None:
    """Effective, permitted, inheritable and ambient sets become that one capability, so that exec
    keeps it."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    bit = 1 << capability
    sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    if (
        libc.capset(header, sets) != 0
        or libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0
    ):
        raise OSError(ctypes.get_errno(), "cannot keep the capability to reach the data directory")
