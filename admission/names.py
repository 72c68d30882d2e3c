"""The admission plugins of kube-apiserver by name (kubernetes ``pkg/kubeapiserver/options/
plugins.go``). Nothing is imported, so that a bad setting is refused before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterable

ORDER = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "TenantProtection",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
OFF = frozenset(
    {
        "AlwaysAdmit",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "LimitPodHardAntiAffinityTopology",
        "AlwaysPullImages",
        "ImagePolicyWebhook",
        "PodNodeSelector",
        "PodTolerationRestriction",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "OwnerReferencesPermissionEnforcement",
        "DenyServiceExternalIPs",
        "AlwaysDeny",
    }
)
"""Those that run only where somebody asks for them: kube-apiserver's, but for NodeRestriction:
without it the Node authorizer would let a node make pods that lead to any secret."""

NEEDY = frozenset({"EventRateLimit", "ImagePolicyWebhook"})
"""Those of OFF that are of no use without a configuration (`admission.configuration`)."""

DEFAULT = frozenset(ORDER) - OFF


class PluginError(ValueError):
    """A setting that names plugins wrongly."""


def enabled(enable: Iterable[str], disable: Iterable[str]) -> frozenset[str]:
    """The names of what runs. Raises PluginError."""
    on, off = set(enable), set(disable)
    for switch, names in (("enabled", on), ("disabled", off)):
        if unknown := sorted(names - set(ORDER)):
            raise PluginError(f'there is no plugin "{unknown[0]}" that could be {switch}')
    if both := sorted(on & off):
        raise PluginError(f'plugin "{both[0]}" is enabled and disabled')
    return (DEFAULT | on) - off
