"""`manage.py help`: Polyplane's commands first, Django's behind them.

The lines stand here and not in the commands, because to load all commands takes a second.
"""

from __future__ import annotations

import pkgutil

import django.core.management.commands

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
        "kubeconfig": "a kubeconfig for one tenant, with a new token",
        "kubeconfig_merge": "add the administrator's contexts to your own kubeconfig",
        "reset_admin_password": "a new random password for the console's superuser",
    },
    "Data": {
        "audit": "who did what: entries of the audit log",
        "psql": "the database, in PostgreSQL's own client; one tenant's rows or all",
        "compact": "forget superseded versions of objects",
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
    own = {name for section in COMMANDS.values() for name in section}
    lines += ["Django's own commands", *_wrapped(sorted(_of_django() - own))]
    return "\n".join(lines)


def _of_django() -> set[str]:
    path = django.core.management.commands.__path__
    return {module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")}


def _wrapped(names: list[str], width: int = 96) -> list[str]:
    lines = ["  "]
    for name in names:
        if len(lines[-1]) + len(name) > width:
            lines.append("  ")
        lines[-1] += name + " "
    return lines
