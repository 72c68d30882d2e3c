"""What `make run` prints when everything runs."""

from __future__ import annotations

from controlplane.datadir import DataDir
from controlplane.supervisor.initialise import ADMIN, PASSWORD, Initialised


def login_line(done: Initialised, data: DataDir, *, terminal: bool) -> str:
    """How to log in to the console. The password goes to somebody who looks, or into a file of the
    data directory: what is not a terminal is a log, which others keep and read."""
    if not done.password:
        return "already initialised"
    if terminal:
        return f"{ADMIN} / {done.password}   (shown once; change: manage.py reset_admin_password)"
    path = data.write_secret(PASSWORD, f"{done.password}\n".encode())
    return f"{ADMIN}, the password is in {path}   (change: manage.py reset_admin_password)"


def banner(done: Initialised, base: str, workers: int, login: str) -> str:
    """``login``: how to log in."""
    lines = [
        f"Polyplane runs ({workers} worker{'' if workers == 1 else 's'}). Ctrl-C stops it.",
        "",
        f"  API         {base}   tenant demo: {base}/clusters/demo",
        f"  console     {base}/admin/console/",
        f"  login       {login}",
        f"  kubeconfig  {done.kubeconfig}   (contexts: default, demo)",
        "",
        "  try         " + f"kubectl --kubeconfig {done.kubeconfig} get namespaces",
        "              "
        + f"kubectl --kubeconfig {done.kubeconfig} --context demo get all,configmaps -A",
    ]
    return "\n".join(["", *lines, ""])
