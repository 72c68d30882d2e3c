"""Every version that the guide lists as removed, in one table: release, group, versions, kinds,
replacement, change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from controlplane.convert import (
    admission,
    autoscaling,
    definitions,
    events,
    ingress,
    others,
    workloads,
)
from controlplane.convert.rule import Change, Removal

# Release of the removal, group, version, kinds, what to use instead: another group and version,
# /version of the same group, or - for nothing.
_TABLE = """
1.32 flowcontrol.apiserver.k8s.io v1beta3 FlowSchema,PriorityLevelConfiguration /v1
1.29 flowcontrol.apiserver.k8s.io v1beta2 FlowSchema,PriorityLevelConfiguration /v1
1.27 storage.k8s.io v1beta1 CSIStorageCapacity /v1
1.26 flowcontrol.apiserver.k8s.io v1beta1 FlowSchema,PriorityLevelConfiguration /v1
1.26 autoscaling v2beta2 HorizontalPodAutoscaler /v2
1.25 batch v1beta1 CronJob /v1
1.25 discovery.k8s.io v1beta1 EndpointSlice /v1
1.25 events.k8s.io v1beta1 Event /v1
1.25 autoscaling v2beta1 HorizontalPodAutoscaler /v2
1.25 policy v1beta1 PodDisruptionBudget /v1
1.25 policy v1beta1 PodSecurityPolicy -
1.25 node.k8s.io v1beta1 RuntimeClass /v1
1.22 admissionregistration.k8s.io v1beta1 MutatingWebhookConfiguration /v1
1.22 admissionregistration.k8s.io v1beta1 ValidatingWebhookConfiguration /v1
1.22 apiextensions.k8s.io v1beta1 CustomResourceDefinition /v1
1.22 apiregistration.k8s.io v1beta1 APIService /v1
1.22 authentication.k8s.io v1beta1 TokenReview /v1
1.22 authorization.k8s.io v1beta1 LocalSubjectAccessReview,SubjectAccessReview /v1
1.22 authorization.k8s.io v1beta1 SelfSubjectAccessReview,SelfSubjectRulesReview /v1
1.22 certificates.k8s.io v1beta1 CertificateSigningRequest /v1
1.22 coordination.k8s.io v1beta1 Lease /v1
1.22 extensions v1beta1 Ingress networking.k8s.io/v1
1.22 networking.k8s.io v1beta1 Ingress,IngressClass /v1
1.22 rbac.authorization.k8s.io v1beta1 ClusterRole,ClusterRoleBinding,Role,RoleBinding /v1
1.22 scheduling.k8s.io v1beta1 PriorityClass /v1
1.22 storage.k8s.io v1beta1 CSIDriver,CSINode,StorageClass,VolumeAttachment /v1
1.16 extensions v1beta1 NetworkPolicy networking.k8s.io/v1
1.16 extensions v1beta1 PodSecurityPolicy -
1.16 extensions v1beta1 DaemonSet,Deployment,ReplicaSet apps/v1
1.16 apps v1beta1 Deployment,StatefulSet /v1
1.16 apps v1beta2 DaemonSet,Deployment,ReplicaSet,StatefulSet /v1
"""

_CHANGES: Mapping[str, Change] = {
    "CertificateSigningRequest": others.certificate_signing_request,
    "CustomResourceDefinition": definitions.custom_resource_definition,
    "DaemonSet": workloads.daemon_set,
    "Deployment": workloads.deployment,
    "EndpointSlice": others.endpoint_slice,
    "Event": events.event,
    "HorizontalPodAutoscaler": autoscaling.metrics,
    "Ingress": ingress.ingress,
    "LocalSubjectAccessReview": others.subject_access_review,
    "MutatingWebhookConfiguration": admission.webhooks,
    "PodDisruptionBudget": others.pod_disruption_budget,
    "PriorityLevelConfiguration": others.priority_level,
    "ReplicaSet": workloads.replica_set,
    "StatefulSet": workloads.stateful_set,
    "SubjectAccessReview": others.subject_access_review,
    "ValidatingWebhookConfiguration": admission.webhooks,
}


@cache
def removals() -> Mapping[GroupVersionKind, Removal]:
    return {removal.source: removal for removal in _rows()}


def _rows() -> Iterator[Removal]:
    for line in _TABLE.strip().splitlines():
        release, group, version, kinds, target = line.split(" ")
        for kind in kinds.split(","):
            replacement = None
            if target != "-":
                successor = group + target if target.startswith("/") else target
                replacement = GroupVersionKind(*GroupVersion.parse(successor), kind)
            yield Removal(
                GroupVersionKind(group, version, kind), release, replacement, _CHANGES.get(kind)
            )
