"""The controllers that a tenant may leave to somebody else, by the names of
kube-controller-manager's --controllers, and what is the API server's own upstream."""

from __future__ import annotations

NAMESPACE = "namespace-controller"
GARBAGE = "garbage-collector-controller"
ACCOUNT = "serviceaccount-controller"
ROOT_CA = "root-ca-certificate-publisher-controller"
QUOTA = "resourcequota-controller"
AGGREGATION = "clusterrole-aggregation-controller"
FINISHED = "ttl-after-finished-controller"
TOKENS = "serviceaccount-token-controller"
SYSTEM_NAMESPACES = "system-namespaces-controller"
FRONT_PROXY_CA = "cluster-authentication-trust-controller"
BOOTSTRAP_ROLES = "rbac-bootstrap-roles-controller"
AUTOREGISTRATION = "kube-apiserver-autoregistration-controller"
EVENT_TTL = "event-ttl-controller"
OWN_SERVICE = "kubernetes-service-controller"
OWN_LEASE = "kube-apiserver-identity-lease-controller"
ADDRESSES = "service-ip-repair-controller"
SERVICE_RANGE = "kubernetes-service-cidr-controller"
SERVICE_RANGES = "service-cidr-controller"
FLOW_SCHEMAS = "priority-and-fairness-config-controller"
LEGACY_CLEANING = "legacy-serviceaccount-token-cleaner-controller"
REQUEST_SIGNING = "certificatesigningrequest-signing-controller"
REQUEST_APPROVING = "certificatesigningrequest-approving-controller"
REQUEST_CLEANING = "certificatesigningrequest-cleaner-controller"
SERVING_TRUST = "kube-apiserver-serving-clustertrustbundle-publisher-controller"
MIGRATION = "storage-version-migrator-controller"
CLAIM_PROTECTION = "persistentvolumeclaim-protection-controller"
VOLUME_PROTECTION = "persistentvolume-protection-controller"
CLASS_PROTECTION = "volumeattributesclass-protection-controller"
DISRUPTION = "disruption-controller"
FIELD_INDEXES = "field-index-controller"
ENDPOINT_SLICES = "endpointslice-controller"
ENDPOINTS = "endpoints-controller"
MIRRORING = "endpointslice-mirroring-controller"

CONTROLLERS = (
    NAMESPACE,
    GARBAGE,
    ACCOUNT,
    ROOT_CA,
    QUOTA,
    AGGREGATION,
    FINISHED,
    TOKENS,
    SYSTEM_NAMESPACES,
    FRONT_PROXY_CA,
    BOOTSTRAP_ROLES,
    AUTOREGISTRATION,
    EVENT_TTL,
    FLOW_SCHEMAS,
    SERVICE_RANGE,
    SERVICE_RANGES,
    ADDRESSES,
    OWN_SERVICE,
    OWN_LEASE,
    LEGACY_CLEANING,
    REQUEST_SIGNING,
    REQUEST_APPROVING,
    REQUEST_CLEANING,
    SERVING_TRUST,
    MIGRATION,
    CLAIM_PROTECTION,
    VOLUME_PROTECTION,
    CLASS_PROTECTION,
    DISRUPTION,
    FIELD_INDEXES,
    ENDPOINT_SLICES,
    ENDPOINTS,
    MIRRORING,
)
