"""The APIServices of what this server serves itself (kubernetes
``pkg/controlplane/apiserver/aggregator.go``, ``cmd/kube-apiserver/app/aggregator.go``)."""

from __future__ import annotations

from apiserver.meta.objects import Object

LABEL = "kube-aggregator.kubernetes.io/automanaged"
_PRIORITIES = {
    "": (18000, {"v1": 1}),
    "apps": (17800, {"v1": 15}),
    "events.k8s.io": (17750, {"v1": 15}),
    "authentication.k8s.io": (17700, {"v1": 15}),
    "authorization.k8s.io": (17600, {"v1": 15}),
    "autoscaling": (17500, {"v1": 15, "v2": 30}),
    "batch": (17400, {"v1": 15}),
    "certificates.k8s.io": (17300, {"v1": 15, "v1beta1": 9, "v1alpha1": 1}),
    "networking.k8s.io": (17200, {"v1": 15}),
    "policy": (17100, {"v1": 15}),
    "rbac.authorization.k8s.io": (17000, {"v1": 15}),
    "storage.k8s.io": (16800, {"v1": 15}),
    "apiextensions.k8s.io": (16700, {"v1": 15}),
    "admissionregistration.k8s.io": (16700, {"v1": 15, "v1beta1": 12}),
    "scheduling.k8s.io": (16600, {"v1": 15}),
    "coordination.k8s.io": (16500, {"v1": 15}),
    "node.k8s.io": (16300, {"v1": 15}),
    "discovery.k8s.io": (16200, {"v1": 15}),
    "flowcontrol.apiserver.k8s.io": (16100, {"v1": 21}),
    "resource.k8s.io": (15900, {"v1": 20}),
    "storagemigration.k8s.io": (15800, {"v1beta1": 9}),
    "policies.polyplane.dev": (1000, {"v1": 15}),
    "authorization.polyplane.dev": (1000, {"v1": 15}),
    "history.polyplane.dev": (2000, {"v1": 15}),
    "relations.polyplane.dev": (1000, {"v1": 15}),
    "search.polyplane.dev": (1000, {"v1": 15}),
}
"""groupPriorityMinimum of each group, versionPriority of each version. Those of resource.k8s.io/v1
and storagemigration.k8s.io/v1beta1 are no facts: upstream's present table was not to be had. Our
own come after Kubernetes' groups and before those of definitions."""


def local_services() -> list[Object]:
    """Without server-set metadata; each call makes new objects."""
    return [
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}", "labels": {LABEL: "onstart"}},
            "spec": {
                **({"group": group} if group else {}),
                "version": version,
                "groupPriorityMinimum": of_group,
                "versionPriority": of_version,
            },
        }
        for group, (of_group, versions) in _PRIORITIES.items()
        for version, of_version in versions.items()
    ]
