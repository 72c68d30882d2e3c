"""manage.py kubeconfig_merge: the administrator's contexts into the user's own kubeconfig."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import yaml

from controlplane.datadir import DataDir
from controlplane.errors import OperatorError
from controlplane.kubeconfig import merge
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.supervisor.initialise import KUBECONFIG


class Command(PolyplaneCommand):
    help = (
        "Add contexts polyplane-default and polyplane-demo to the first other file of "
        "$KUBECONFIG, or to ~/.kube/config."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        source = DataDir.from_environment().file(KUBECONFIG)
        if not source.exists():
            raise OperatorError(f"{source} does not exist.", "`make run` makes it.")
        named = [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
        others = [
            path for path in named if path.resolve() != source.resolve()
        ]  # $KUBECONFIG may be the very file that is merged
        target = others[0] if others else Path.home() / ".kube" / "config"
        ours = yaml.safe_load(source.read_text())
        theirs = yaml.safe_load(target.read_text()) if target.exists() else None
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = target.with_name(target.name + ".new")
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as f:
            yaml.safe_dump(merge(theirs or {}, ours), f, sort_keys=False)
        os.replace(new, target)
        contexts = ["polyplane-" + context["name"] for context in ours["contexts"]]
        value = {"path": str(target), "contexts": contexts}
        self.print(options, value, f"{target}: contexts {', '.join(contexts)}")
