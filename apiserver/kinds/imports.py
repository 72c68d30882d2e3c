"""Every file that registers a kind, one line each, sorted by group: the only place that imports them."""

# ruff: noqa: F401

import apiserver.kinds.admissionregistration.mutatingadmissionpolicy
import apiserver.kinds.admissionregistration.mutatingadmissionpolicybinding
import apiserver.kinds.admissionregistration.mutatingwebhookconfiguration
import apiserver.kinds.admissionregistration.validatingadmissionpolicy
import apiserver.kinds.admissionregistration.validatingadmissionpolicybinding
import apiserver.kinds.admissionregistration.validatingwebhookconfiguration
import apiserver.kinds.core.binding
import apiserver.kinds.core.componentstatus
import apiserver.kinds.core.endpoints
import apiserver.kinds.core.limitrange
import apiserver.kinds.core.persistentvolume
import apiserver.kinds.core.persistentvolumeclaim
import apiserver.kinds.core.resourcequota
import apiserver.kinds.core.service
import apiserver.kinds.discovery.endpointslice
import apiserver.kinds.networking.ingress
import apiserver.kinds.networking.ingressclass
import apiserver.kinds.networking.ipaddress
import apiserver.kinds.networking.networkpolicy
import apiserver.kinds.networking.servicecidr
import apiserver.kinds.node.runtimeclass
import apiserver.kinds.policy.poddisruptionbudget
import apiserver.kinds.rbac.clusterrole
import apiserver.kinds.rbac.clusterrolebinding
import apiserver.kinds.rbac.role
import apiserver.kinds.rbac.rolebinding
import apiserver.kinds.scheduling.priorityclass
import apiserver.kinds.storage.csidriver
import apiserver.kinds.storage.csinode
import apiserver.kinds.storage.csistoragecapacity
import apiserver.kinds.storage.storageclass
import apiserver.kinds.storage.volumeattachment
import apiserver.kinds.storage.volumeattributesclass
