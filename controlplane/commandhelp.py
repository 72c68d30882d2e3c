"""`manage.py help`: Polyplane's commands first, Django's behind them.

The lines stand here and not in the commands, because to load all commands takes a second.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from pathlib import Path

import django.core.management.commands

_CORE = django.core.management.commands.__path__

COMMANDS = {
    "Run": {
        "up": "prepare what is missing, then run PostgreSQL and the workers in the foreground",
        "serve": "one worker process alone, without supervision",
        "migrate": "bring the database's tables up to date; `up` does so at every start",
        "check": "what is wrong with this installation",
        "reset": "remove the data directory with the embedded database and all keys",
        "version": "which Polyplane this is",
    },
    "Tenants and access": {
        "tenant": "create, list, change, suspend, resume and delete tenants",
        "token": "create, list and revoke bearer tokens",
        "role": "what console accounts may do with the whole installation",
        "why": "why somebody may do something in a tenant, or may not",
        "rotate_keys": "new keys for the tokens of service accounts, without a break",
        "kubeconfig": "a kubeconfig for one tenant, with a new token",
        "kubeconfig_merge": "add the administrator's contexts to your own kubeconfig",
        "reset_admin_password": "a new random password for the console's superuser",
    },
    "Data": {
        "audit": "who did what: entries of the audit log",
        "psql": "the database, in PostgreSQL's own client; one tenant's rows or all",
        "compact": "forget superseded versions of objects",
        "restored": "say that the database comes from a backup",
        "convert": "manifests of removed API versions into served ones",
        "migrate_storage": "store all objects of a resource in its storage version",
    },
}


def overview(program: str) -> str:
    """The text of `help`; ``program``: as the user called it."""
    lines = [f"Usage: {program} COMMAND [options]     ({program} COMMAND --help says more)", ""]
    width = max(len(name) for section in COMMANDS.values() for name in section)
    for title, section in COMMANDS.items():
        lines += [title, *(f"  {name:{width}}  {line}" for name, line in section.items()), ""]
    lines += ["Django's own commands", *_wrapped(sorted(_in(_CORE) - _own()))]
    return "\n".join(lines)


def names() -> set[str]:
    """Every command there is, told without loading the settings."""
    contrib = (Path(django.__file__).parent / "contrib").glob("*/management/commands")
    return _own() | _in(_CORE) | _in(map(str, contrib))


def _own() -> set[str]:
    return {name for section in COMMANDS.values() for name in section}


def _in(directories: Iterable[str]) -> set[str]:
    modules = pkgutil.iter_modules(directories)
    return {module.name for module in modules if not module.name.startswith("_")}


def _wrapped(names: list[str], width: int = 96) -> list[str]:
    lines = ["  "]
    for name in names:
        if len(lines[-1]) + len(name) > width:
            lines.append("  ")
        lines[-1] += name + " "
    return lines
