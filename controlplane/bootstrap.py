"""The demo tenant's objects (fixtures/demo), sent to the running server as any client would send
them.

An owner reference without a uid gets the uid of the object of that kind and name that was sent
before. An object with a finalizer is deleted right after it is made, so that it waits for the
finalizer: the console has something to show.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from controlplane import environment
from controlplane.errors import OperatorError
from controlplane.kubeconfig import tenant_url

TENANT = "demo"


def load_demo(base: str, context: ssl.SSLContext, kubeconfig: Path) -> int:
    """Creates every object of fixtures/demo in tenant demo; those that exist stay as they are.
    Returns how many were made. Raises OperatorError."""
    token = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
    client = _Client(tenant_url(base, TENANT), context, token)
    count, uids = 0, dict[tuple[str, str], str]()
    for path in sorted((environment.resources("fixtures") / "demo").glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text()):
            for owner in manifest["metadata"].get("ownerReferences", []):
                owner.setdefault("uid", uids.get((owner["kind"], owner["name"]), ""))
            created = client.create(manifest)
            if created is None:
                continue
            count += 1
            uids[manifest["kind"], created["metadata"]["name"]] = created["metadata"]["uid"]
            if created["metadata"].get("finalizers"):
                client.delete(created)
    return count


class _Client:
    def __init__(self, base: str, context: ssl.SSLContext, token: str) -> None:
        self._base, self._context, self._token = base, context, token
        self._resources: dict[str, dict[str, dict[str, Any]]] = {}

    def create(self, manifest: dict[str, Any]) -> dict[str, Any] | None:
        """The object as created, None when it existed."""
        return self._send("POST", self._collection(manifest), manifest)

    def delete(self, obj: dict[str, Any]) -> None:
        self._send("DELETE", f"{self._collection(obj)}/{obj['metadata']['name']}", None)

    def _collection(self, obj: dict[str, Any]) -> str:
        version = obj["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if root not in self._resources:
            listed = (self._send("GET", root, None) or {}).get("resources", [])
            self._resources[root] = {r["kind"]: r for r in listed if "/" not in r["name"]}
        resource = self._resources[root][obj["kind"]]
        namespace = (
            f"/namespaces/{obj['metadata'].get('namespace', 'default')}"
            if resource["namespaced"]
            else ""
        )
        return f"{root}{namespace}/{resource['name']}"

    def _send(self, method: str, path: str, body: Any) -> dict[str, Any] | None:
        request = urllib.request.Request(  # noqa: S310
            self._base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": "polyplane-demo/1",  # becomes the field manager
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as response:  # noqa: S310
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as e:
            text = e.read().decode(errors="replace")
            if e.code == 409:
                return None
            raise OperatorError(
                f"The demo objects were refused: {method} {path} answered {e.code}: {text[:300]}",
                "report this as a bug.",
            ) from e
        except OSError as e:
            raise OperatorError(
                f"The demo objects could not be made: no answer to {method} {path} ({e}). "
                "The machine may have too much to do.",
                "start again: what is missing is made then.",
            ) from e
