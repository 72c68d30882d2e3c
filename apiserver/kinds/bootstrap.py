"""What a new tenant holds before anybody writes to it: what kube-apiserver makes by itself at its
first start.

The data is in ``data/bootstrap.json`` (facts of Kubernetes 1.36) and, for features that are off by
default, in ``data/bootstrap-gated.json``; labels and annotations that all
objects of a kind share are added here. The rules of aggregated ClusterRoles are filled in, as a
controller would do. Sources: kubernetes ``plugin/pkg/auth/authorizer/rbac/ bootstrappolicy``,
``apis/flowcontrol/bootstrap``, ``registry/scheduling/rest``, ``controlplane/controller`` (system
namespaces, the ``kubernetes`` service, the default ServiceCIDR).
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from importlib.resources import files

from apiserver.kinds.apiregistration.builtin import local_services
from apiserver.kinds.core.service_ranges import CLUSTER_RANGE
from apiserver.kinds.rbac.aggregation import aggregate_all
from apiserver.meta import features
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
API_SERVICE_IP = str(CLUSTER_RANGE.network_address + 1)

_RBAC, _APF = "rbac.authorization.k8s.io", "flowcontrol.apiserver.k8s.io"
_KINDS = {
    "clusterroles": (f"{_RBAC}/v1", "ClusterRole"),
    "clusterrolebindings": (f"{_RBAC}/v1", "ClusterRoleBinding"),
    "roles": (f"{_RBAC}/v1", "Role"),
    "rolebindings": (f"{_RBAC}/v1", "RoleBinding"),
    "prioritylevelconfigurations": (f"{_APF}/v1", "PriorityLevelConfiguration"),
    "flowschemas": (f"{_APF}/v1", "FlowSchema"),
    "priorityclasses": ("scheduling.k8s.io/v1", "PriorityClass"),
}


def bootstrap_objects(now: datetime, *, secure_port: int = 6443) -> list[Object]:
    """Objects without server-set metadata, in an order in which they can be created: namespaces
    first. ``now``: for conditions; ``secure_port``: where the API server listens. Each call makes
    new objects."""
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    objects += _from_data()
    objects += [*local_services(), _token_tracking(now)]
    return [*objects, service_cidr(), api_service(secure_port)]


def _from_data() -> list[Object]:
    objects: list[Object] = []
    data: dict[str, list[Object]] = json.loads(_data("bootstrap.json"))
    _add_gated(data)
    for resource, (api_version, kind) in _KINDS.items():
        for obj in data[resource]:
            _mark(obj["metadata"], api_version)
            objects.append({"apiVersion": api_version, "kind": kind, **obj})
    aggregate_all([obj for obj in objects if obj["kind"] == "ClusterRole"])
    return objects


def _add_gated(data: dict[str, list[Object]]) -> None:
    """What comes with features that are off by default, where they are on."""
    for gate, more in json.loads(_data("bootstrap-gated.json")).items():
        if features.enabled(gate):
            for role in data["clusterroles"]:
                role["rules"] = role.get("rules", []) + more["rules"].get(
                    role["metadata"]["name"], []
                )
            for resource in ("clusterroles", "clusterrolebindings"):
                data[resource] += more[resource]


def _mark(metadata: Object, api_version: str) -> None:
    """Upstream brings marked objects up to date at each start."""
    if api_version.startswith(_RBAC):
        metadata["labels"] = {
            "kubernetes.io/bootstrapping": "rbac-defaults",
            **metadata.get("labels", {}),
        }
        metadata["annotations"] = {
            "rbac.authorization.kubernetes.io/autoupdate": "true",
            **metadata.get("annotations", {}),
        }
    elif api_version.startswith(_APF):
        metadata["annotations"] = {"apf.kubernetes.io/autoupdate-spec": "true"}


@cache
def _data(name: str) -> bytes:
    return (files("apiserver.kinds") / "data" / name).read_bytes()


def _token_tracking(now: datetime) -> Object:
    """Since when tokens of secrets are watched for use (kubernetes ``pkg/controlplane/controller/
    legacytokentracking``)."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "kube-apiserver-legacy-service-account-token-tracking",
            "namespace": "kube-system",
        },
        "data": {"since": format_time(now).partition("T")[0]},
    }


def service_cidr() -> Object:
    """The range that cluster IPs come from. Its condition is written when it is there (controllers/
    defaultrange.py)."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [str(CLUSTER_RANGE)]},
    }


def api_service(secure_port: int) -> Object:
    """The Service that stands for the API server itself."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": API_SERVICE_IP,
            "clusterIPs": [API_SERVICE_IP],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": secure_port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }
