"""A world that makes every view of the console show something: `make demo`, while a server runs.

    python -m tools.demo [KUBECONFIG]

Tenants ``acme`` and ``globex`` get fixtures/world; in acme things also happen: three managers own
fields of one Deployment, a ConfigMap has a past, one is gone, a namespace hangs, a policy refuses,
a webhook fails, a quota is nearly used, a definition has left a version behind. Everything goes
through the API, as an operator would do it, and may be done again.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import sys
import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parent.parent
WORLD = ROOT / "fixtures/world"
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
PATIENCE = 60.0  # seconds until a definition is served
Object = dict[str, Any]


class Refused(Exception):
    """The API has answered with a failure: its status code, and what it says."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Taken(Exception):
    """Tenants of the demo's names are there already."""


class Api:
    """The server of a kubeconfig, as its first user. tenant: whose paths are meant."""

    def __init__(self, kubeconfig: Path, tenant: str) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self._address = urlsplit(cluster["server"])
        self._context = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
        )
        self._headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        self._base = f"/clusters/{tenant}"

    def acting_as(self, user: str) -> Api:
        """The same server, for one of those who work in this world."""
        acting = copy(self)
        who = {"Impersonate-User": user, "Impersonate-Group": "system:masters"}
        acting._headers = {**self._headers, **who}
        return acting

    def __call__(self, method: str, path: str, body: Any = None, type: str = MERGE) -> Object:
        """Raises Refused."""
        address = self._address
        connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, context=self._context, timeout=PATIENCE
        )
        headers = {**self._headers, "Content-Type": type}
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, self._base + path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
            found: Object = json.loads(text) if text[:1] == b"{" else {"message": text.decode()}
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused(answer.status, str(found.get("message", "")))
        return found

    def apply(self, obj: Object, manager: str = "kubectl") -> None:
        """Server-side, and its status, if it has one, as a controller would."""
        obj, status = {**obj}, obj.get("status")
        obj.pop("status", None)
        path = self.path_of(obj)
        force = f"?fieldManager={manager}&force=true"
        self("PATCH", path + force, obj, APPLY)
        if status is not None:
            self("PATCH", f"{path}/status?fieldManager=demo-controller", {"status": status}, MERGE)

    def path_of(self, obj: Object) -> str:
        """Where the object stands; waits until its kind is served."""
        version, kind = str(obj["apiVersion"]), obj["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        deadline = time.monotonic() + PATIENCE
        while (resource := self._resource(root, kind)) is None:
            if time.monotonic() > deadline:
                raise Refused(404, f"{version} {kind} is not served")
            time.sleep(0.2)
        metadata = obj["metadata"]
        within = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        return f"{root}{within}/{resource}/{quote(metadata['name'])}"

    def _resource(self, root: str, kind: str) -> str | None:
        try:
            served = self("GET", root)["resources"]
        except Refused:
            return None
        names = (str(r["name"]) for r in served if r["kind"] == kind and "/" not in r["name"])
        return next(names, None)


def world() -> Iterator[Object]:
    """The objects of fixtures/world, in order."""
    for path in sorted(WORLD.glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


def tenant(name: str, display_name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "tenancy.polyplane.dev/v1",
        "kind": "Tenant",
        "metadata": {"name": name, "labels": {"demo": "yes"}},
        "spec": {"displayName": display_name, **spec},
    }


TENANTS = (
    tenant("acme", "Acme Ltd", owners=[{"kind": "User", "name": "alice"}]),
    tenant("globex", "Globex", quotas={"objects": 240}),
    tenant("initech", "Initech", suspended=True),
    tenant("hooli", "Hooli", deletionProtection=True, ttlSeconds=604800),
)


def configmap(name: str, namespace: str, data: dict[str, str], **labels: str) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def workload(api: Api) -> None:
    """What the controllers of a cluster would have made of Deployment web."""
    deployment = api("GET", "/apis/apps/v1/namespaces/shop/deployments/web")
    template = deployment["spec"]["template"]
    labels = {"app": "web", "pod-template-hash": "7d9c"}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-7d9c",
            "namespace": "shop",
            "labels": labels,
            "ownerReferences": [_owner(deployment, "apps/v1", "Deployment")],
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
        "status": {"replicas": 3, "readyReplicas": 2, "availableReplicas": 2},
    }
    api.apply(replica_set, "kube-controller-manager")
    made = api("GET", "/apis/apps/v1/namespaces/shop/replicasets/web-7d9c")
    for letter, phase in zip("abc", ("Running", "Running", "Pending"), strict=True):
        api.apply(_pod(letter, phase, made, template["spec"], labels), "kube-controller-manager")
    _event(api, "web-7d9c-c")


def _owner(obj: Object, version: str, kind: str) -> Object:
    name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def _pod(letter: str, phase: str, owner: Object, spec: Object, labels: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-7d9c-{letter}",
            "namespace": "shop",
            "labels": labels,
            "ownerReferences": [_owner(owner, "apps/v1", "ReplicaSet")],
        },
        "spec": {"containers": spec["containers"], "serviceAccountName": "web"},
        "status": {"phase": phase},
    }


def _event(api: Api, pod: str) -> None:
    uid = api("GET", f"/api/v1/namespaces/shop/pods/{pod}")["metadata"]["uid"]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{pod}.", "namespace": "shop"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod,
            "namespace": "shop",
            "uid": uid,
        },
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/3 nodes are available: 3 Insufficient memory.",
        "source": {"component": "default-scheduler"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    api("POST", "/api/v1/namespaces/shop/events", event, "application/json")


def managers(api: Api) -> None:
    """Three of them own fields of Deployment web."""
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
    }
    scaler = api.acting_as("system:serviceaccount:kube-system:horizontal-pod-autoscaler")
    scaler.apply({**web, "spec": {"replicas": 3}}, "horizontal-pod-autoscaler")
    note = {"annotations": {"example.com/on-call": "storefront@example.com"}}
    noted = {**web, "metadata": {**web["metadata"], **note}}  # type: ignore[dict-item]
    api.acting_as("system:serviceaccount:gitops:deployer").apply(noted, "gitops")


def history(api: Api) -> None:
    """ConfigMap settings has a past, and price-list is gone."""
    path = "/api/v1/namespaces/shop/configmaps/settings"
    for user, manager, data in (
        ("ann", "kubectl-edit", {"banner": "Spring is coming"}),
        ("pricing-bot", "pricing-bot", {"currency": "USD"}),
        ("bob", "kubectl-edit", {"page-size": "50"}),
        ("pricing-bot", "pricing-bot", {"currency": "EUR", "rounding": "half-up"}),
    ):
        api.acting_as(user)("PATCH", f"{path}?fieldManager={manager}", {"data": data})
    api.acting_as("bob")("DELETE", "/api/v1/namespaces/shop/configmaps/price-list")


def trouble(api: Api) -> None:
    """A quota that is nearly used, a refusal, a webhook that cannot be reached, a namespace that
    hangs."""
    for number in range(8):
        api.apply(configmap(f"rates-{number}", "payments", {"rate": f"1.{number}"}))
    api.apply(configmap("checked-prices", "shop", {"apples": "1.25"}, checked="prices"))
    _refused(api)
    bucket = configmap("invoices-2019", "legacy", {"bucket": "invoices-2019"})
    bucket["metadata"]["finalizers"] = ["example.com/empty-the-bucket"]
    api.apply(bucket, "bucket-controller")
    api("DELETE", "/api/v1/namespaces/legacy")


def _refused(api: Api) -> None:
    """A change that the policy refuses, sent once it does: a new policy binds after a moment."""
    web = "/apis/apps/v1/namespaces/shop/deployments/web"
    image = [{"name": "web", "image": "registry.example.com/shop/web:latest"}]
    change = {"spec": {"template": {"spec": {"containers": image}}}}
    deadline = time.monotonic() + PATIENCE
    while not _refuses(api, f"{web}?dryRun=All", change):
        if time.monotonic() > deadline:
            raise Refused(404, "policy no-latest-images does not bind")
        time.sleep(0.2)
    _refuses(api, web, change)


def _refuses(api: Api, path: str, change: Object) -> bool:
    try:
        api("PATCH", path, change)
    except Refused as refused:
        if refused.code != 422:
            raise
        return True
    return False


def foreign(home: Api) -> list[str]:
    """Those of the tenants that somebody else has made."""
    root = "/apis/tenancy.polyplane.dev/v1/tenants"
    labels = {
        t["metadata"]["name"]: t["metadata"].get("labels") for t in home("GET", root)["items"]
    }
    names = [str(one["metadata"]["name"]) for one in TENANTS]
    return [n for n in names if n in labels and (labels[n] or {}).get("demo") != "yes"]


def fill(kubeconfig: Path) -> None:
    """Raises Refused; Taken before anything is done."""
    home = Api(kubeconfig, "default")
    if taken := foreign(home):
        raise Taken(f"tenant {', '.join(taken)}: made by somebody else, and left alone")
    for one in TENANTS:
        home.apply(one)
    for name in ("acme", "globex"):
        api = Api(kubeconfig, name)
        for obj in world():
            if obj["metadata"]["name"] == "legacy" and _is_going(api):
                continue
            api.apply(obj)
    acme = Api(kubeconfig, "acme")
    managers(acme)
    workload(acme)
    history(acme)
    definitions(acme)
    if not _is_going(acme):
        trouble(acme)


BACKUPS = {"plural": "backups", "singular": "backup", "kind": "Backup"}


def definition(*versions: Object) -> Object:
    """Of Backups, in some versions."""
    spec = {"group": "example.com", "scope": "Namespaced", "names": BACKUPS}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.example.com"},
        "spec": {**spec, "versions": list(versions)},
    }


def version(name: str, *, storage: bool, **more: Any) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    return {"name": name, **served, **more}


def definitions(api: Api) -> None:
    """A definition whose objects are stored in a version that it has left behind, and one that asks
    for a name that is taken."""
    root = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    if _is_there(api, f"{root}/archives.example.com"):
        return
    api.apply(definition(version("v1alpha1", storage=True)))
    metadata = {"name": "nightly", "namespace": "shop"}
    api.apply({"apiVersion": "example.com/v1alpha1", "kind": "Backup", "metadata": metadata})
    old = version("v1alpha1", storage=False, deprecated=True)
    api.apply(definition(old, version("v1", storage=True)))
    taken = definition(version("v1", storage=True))
    taken["metadata"] = {"name": "archives.example.com"}
    taken["spec"]["names"] = {**BACKUPS, "plural": "archives"}
    api.apply(taken)


def _is_there(api: Api, path: str) -> bool:
    try:
        api("GET", path)
    except Refused:
        return False
    return True


def _is_going(api: Api) -> bool:
    """Whether namespace legacy hangs already: the world is filled a second time."""
    try:
        return "deletionTimestamp" in api("GET", "/api/v1/namespaces/legacy")["metadata"]
    except Refused:
        return False


def main(arguments: list[str]) -> int:
    data = os.environ.get("POLYPLANE_DATA_DIR") or str(ROOT / ".data")
    kubeconfig = Path(arguments[0]) if arguments else Path(data) / "admin.kubeconfig"
    if not kubeconfig.exists():
        sys.stderr.write(f"{kubeconfig} is not there: start a server first (make run)\n")
        return 1
    try:
        fill(kubeconfig)
    except Taken as error:
        sys.stderr.write(f"error: {error}.\n  fix: use a data directory of its own for the demo, ")
        sys.stderr.write("or delete these tenants: manage.py tenant delete NAME\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"the server cannot be reached: {error}; start it with: make run\n")
        return 1
    sys.stderr.write("tenants acme, globex, initech and hooli are there: /admin/console/t/acme/\n")
    sys.stderr.write(
        "  take them away again: manage.py tenant update hooli --deletion-protection off; "
    )
    sys.stderr.write("manage.py tenant delete -l demo=yes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
