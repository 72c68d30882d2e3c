"""The plugins that run, in kube-apiserver's order (``kubeapiserver/options/plugins.go``); here and
nowhere else."""

from __future__ import annotations

from collections.abc import Container

from admission import names
from admission.attributes import Authorize
from admission.chain import Plugin
from admission.configuration import Configurations
from admission.plugins.alwaysadmit import AlwaysAdmit, AlwaysDeny
from admission.plugins.alwayspullimages import AlwaysPullImages
from admission.plugins.antiaffinity import LimitPodHardAntiAffinityTopology
from admission.plugins.autoprovision import NamespaceAutoProvision, Provide
from admission.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from admission.plugins.claimresize import PersistentVolumeClaimResize
from admission.plugins.defaultclass import DefaultIngressClass, DefaultStorageClass
from admission.plugins.defaulttolerationseconds import DefaultTolerationSeconds
from admission.plugins.eventratelimit import EventRateLimit
from admission.plugins.extendedresourcetoleration import ExtendedResourceToleration
from admission.plugins.externalips import DenyServiceExternalIPs
from admission.plugins.imagepolicy import ImagePolicyWebhook
from admission.plugins.limitranger import LimitRanger
from admission.plugins.mutatingwebhook import MutatingAdmissionWebhook
from admission.plugins.namespaceexists import NamespaceExists
from admission.plugins.namespacelifecycle import NamespaceLifecycle
from admission.plugins.nodefeatures import NodeDeclaredFeatureValidator
from admission.plugins.noderestriction import NodeRestriction
from admission.plugins.ownerreferences import OwnerReferencesPermissionEnforcement
from admission.plugins.podnodeselector import PodNodeSelector
from admission.plugins.podresize import PodResizeValidator
from admission.plugins.podsecurity import PodSecurity
from admission.plugins.podtopologylabels import PodTopologyLabels
from admission.plugins.priority import Priority
from admission.plugins.resourcequota import ResourceQuota, Store
from admission.plugins.runtimeclass import RuntimeClass
from admission.plugins.serviceaccount import ServiceAccount
from admission.plugins.storageprotection import StorageObjectInUseProtection
from admission.plugins.taintnodes import TaintNodesByCondition
from admission.plugins.tenants import TenantProtection
from admission.plugins.tolerations import PodTolerationRestriction
from admission.plugins.validatingwebhook import ValidatingAdmissionWebhook
from admission.policy.compiled import Library
from admission.policy.mutating import MutatingAdmissionPolicy
from admission.policy.observer import Observer
from admission.policy.validating import ValidatingAdmissionPolicy
from admission.webhooks.call import Caller
from admission.webhooks.conditions import Conditions
from apiserver.flow.buckets import Buckets


def plugins_in_order(
    charge_quota: Store,
    authorize: Authorize,
    webhooks: Caller,
    provide: Provide,
    enabled: Container[str] = names.DEFAULT,
    configured: Configurations | None = None,
    buckets: Buckets | None = None,
    home: int = 0,
    policies: Observer | None = None,
) -> list[Plugin]:
    """enabled: by name; provide: creates namespaces; buckets: shared by the workers, None where
    this process is alone; home: the number of the tenant with Tenant objects; policies: who counts
    what they do."""
    configured = configured or Configurations()
    plugins = _all(charge_quota, authorize, webhooks, provide, configured, buckets, home, policies)
    return [plugin for plugin in plugins if plugin.name in enabled]


def _all(
    charge_quota: Store,
    authorize: Authorize,
    webhooks: Caller,
    provide: Provide,
    configured: Configurations,
    buckets: Buckets | None,
    home: int,
    policies: Observer | None,
) -> list[Plugin]:
    return [
        *_before_policies(authorize, provide, configured, buckets),
        TenantProtection(home, authorize),
        *_policies(authorize, webhooks, policies),
        # last: nothing is charged for what another plugin refuses
        ResourceQuota(charge_quota, configured.limited),
        AlwaysDeny(),
    ]


def _before_policies(
    authorize: Authorize,
    provide: Provide,
    configured: Configurations,
    buckets: Buckets | None,
) -> list[Plugin]:
    return [
        AlwaysAdmit(),
        NamespaceAutoProvision(provide),
        NamespaceLifecycle(),
        NamespaceExists(),
        LimitPodHardAntiAffinityTopology(),
        LimitRanger(),
        ServiceAccount(),
        NodeRestriction(authorize),
        TaintNodesByCondition(),
        AlwaysPullImages(),
        ImagePolicyWebhook(configured.images),
        PodSecurity(configured.pod_security),
        PodNodeSelector(configured.node_selectors),
        Priority(),
        DefaultTolerationSeconds(),
        PodTolerationRestriction(configured.tolerations),
        EventRateLimit(configured.event_limits, buckets),
        ExtendedResourceToleration(),
        DefaultStorageClass(),
        StorageObjectInUseProtection(),
        OwnerReferencesPermissionEnforcement(authorize),
        PersistentVolumeClaimResize(),
        RuntimeClass(),
        CertificateApproval(authorize),
        CertificateSigning(authorize),
        ClusterTrustBundleAttest(authorize),
        CertificateSubjectRestriction(),
        DefaultIngressClass(),
        DenyServiceExternalIPs(),
        PodTopologyLabels(),
        NodeDeclaredFeatureValidator(),
        PodResizeValidator(),
    ]


def _policies(authorize: Authorize, webhooks: Caller, policies: Observer | None) -> list[Plugin]:
    compiled = Library()
    conditions = Conditions(compiled, authorize, webhooks.observer)
    return [
        MutatingAdmissionPolicy(compiled, authorize, policies),
        MutatingAdmissionWebhook(webhooks, conditions),
        ValidatingAdmissionPolicy(compiled, authorize, policies),
        ValidatingAdmissionWebhook(webhooks, conditions),
    ]
