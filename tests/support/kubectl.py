"""kubectl, the real one, as a person at a terminal calls it."""

from __future__ import annotations

import itertools
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import yaml

from tests.support.installation import eventually
from tests.support.waiting import PATIENCE

PROGRAM = shutil.which("kubectl")
NEEDS_KUBECTL = pytest.mark.skipif(
    PROGRAM is None, reason="kubectl is not on PATH: NOTHING of kubectl is tested"
)
_NUMBERS = itertools.count(1)


class Watching:
    """`kubectl get --watch`, line by line; a context manager that ends it."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))

    def line(self, within: float = PATIENCE) -> str:
        """The next line; queue.Empty when none came in time (seconds)."""
        return self._lines.get(timeout=within)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Kubectl:
    """Calls kubectl with one kubeconfig and a home directory of its own, so that no cache of others
    is in the way."""

    def __init__(self, kubeconfig: Path, home: Path, context: str = "default") -> None:
        assert PROGRAM is not None
        self.program = PROGRAM
        self.home = home
        self.kubeconfig = kubeconfig
        self.context = context
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("KUBE")} | {
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
        }

    def at(self, context: str) -> Kubectl:
        return Kubectl(self.kubeconfig, self.home, context)

    def command(self, *arguments: str) -> list[str]:
        return [self.program, f"--context={self.context}", *arguments]

    def run(
        self, *arguments: str, stdin: Any = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Whatever comes out. ``stdin``: text as it is, anything else as YAML."""
        text = stdin if stdin is None or isinstance(stdin, str) else yaml.safe_dump(stdin)
        return subprocess.run(
            self.command(*arguments),
            env=self.env | env,
            input=text,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def __call__(self, *arguments: str, stdin: Any = None, **env: str) -> str:
        """What it prints; AssertionError with all that it said when it failed."""
        done = self.run(*arguments, stdin=stdin, **env)
        assert done.returncode == 0, (
            f"kubectl {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout

    def get(self, *arguments: str) -> Any:
        return yaml.safe_load(self("get", *arguments, "-o", "yaml"))

    def refused(self, *arguments: str, stdin: Any = None) -> str:
        """What it complains of; AssertionError when it did not."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} went through: {done.stdout}"
        return done.stderr

    def watch(self, *arguments: str) -> Watching:
        return Watching(self.command("get", "--watch", *arguments), self.env)

    @contextmanager
    def namespace(self) -> Iterator[str]:
        """A namespace with its default service account, without which no pod is admitted."""
        name = f"t{next(_NUMBERS)}"
        self.make_namespaces(name)
        yield name
        self("delete", "ns", name, "--wait=false")

    def make_namespaces(self, *names: str) -> None:
        """Makes them, and waits for their service accounts."""
        items = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names
        ]
        created = self(
            "create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items}
        )
        assert created.count("created") == len(names)
        accounts = ("get", "sa", "-A", "--field-selector=metadata.name=default", "--no-headers")
        eventually(lambda: set(names) <= {line.split()[0] for line in self(*accounts).splitlines()})

    def config_maps(self, namespace: str) -> set[str]:
        """Their names, without what the server itself puts there."""
        lines = self("get", "cm", "-n", namespace, "-o", "name").splitlines()
        return {line.rpartition("/")[2] for line in lines} - {"kube-root-ca.crt"}


def config_map(name: str, owner: Any = None, **data: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }
    if owner is not None:
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        made["metadata"]["ownerReferences"] = [
            {**reference, "blockOwnerDeletion": True, "controller": True}
        ]
    return made
