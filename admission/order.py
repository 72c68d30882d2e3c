"""The plugins that run, in kube-apiserver's order (``kubeapiserver/options/plugins.go``); here and nowhere else."""

from __future__ import annotations

from admission.chain import Plugin
from admission.plugins.defaultclass import DefaultIngressClass, DefaultStorageClass
from admission.plugins.defaulttolerationseconds import DefaultTolerationSeconds
from admission.plugins.limitranger import LimitRanger
from admission.plugins.namespacelifecycle import NamespaceLifecycle
from admission.plugins.priority import Priority
from admission.plugins.resourcequota import ResourceQuota, Store
from admission.plugins.runtimeclass import RuntimeClass
from admission.plugins.serviceaccount import ServiceAccount
from admission.plugins.storageprotection import StorageObjectInUseProtection
from admission.plugins.taintnodes import TaintNodesByCondition


def default_plugins(charge_quota: Store) -> list[Plugin]:
    return [
        NamespaceLifecycle(),
        LimitRanger(),
        ServiceAccount(),
        TaintNodesByCondition(),
        Priority(),
        DefaultTolerationSeconds(),
        StorageObjectInUseProtection(),
        RuntimeClass(),
        DefaultStorageClass(),
        DefaultIngressClass(),
        ResourceQuota(charge_quota),  # last: nothing is charged for what another plugin refuses
    ]
