"""What `make run` prints when everything runs."""

from __future__ import annotations

from controlplane.supervisor.initialise import ADMIN, Initialised


def banner(done: Initialised, base: str, workers: int) -> str:
    login = f"{ADMIN} / {done.password}   (shown once; change: manage.py reset_admin_password)" if done.password else "already initialised"
    lines = [
        f"Polyplane runs ({workers} worker{'' if workers == 1 else 's'}). Ctrl-C stops it.",
        "",
        f"  API         {base}   tenant demo: {base}/clusters/demo",
        f"  console     {base}/admin/",
        f"  login       {login}",
        f"  kubeconfig  {done.kubeconfig}   (contexts: default, demo)",
        "",
        "  try         " + f"kubectl --kubeconfig {done.kubeconfig} get namespaces",
        "              " + f"kubectl --kubeconfig {done.kubeconfig} --context demo get all,configmaps -A",
    ]
    return "\n".join(["", *lines, ""])
