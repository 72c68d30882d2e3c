"""Small objects that the server takes, by kind, without apiVersion and kind: what the guards fill
up."""

from __future__ import annotations

from typing import Any

BASES: dict[str, dict[str, Any]] = {
    "CustomResourceDefinition": {
        "metadata": {"name": "plain.ns.example.com"},
        "spec": {
            "group": "ns.example.com",
            "scope": "Namespaced",
            "names": {"plural": "plain", "kind": "Plain"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    },
    "MutatingAdmissionPolicy": {
        "metadata": {"name": "ns-p"},
        "spec": {
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}},
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CONNECT"],
                        "resources": ["configmaps"],
                    }
                ],
            },
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": "Object{}"},
                }
            ],
        },
    },
    "MutatingAdmissionPolicyBinding": {
        "metadata": {"name": "ns-two"},
        "spec": {
            "policyName": "ns-two",
            "matchResources": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}
            },
        },
    },
    "ConfigMap": {"metadata": {"name": "noversion"}},
    "Pod": {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    "Deployment": {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    },
    "ServiceAccount": {"metadata": {"name": "robot"}},
    "ValidatingAdmissionPolicy": {
        "metadata": {"name": "ns-boundname"},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}},
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ],
            },
            "validations": [{"expression": "false", "message": "matched by boundname"}],
        },
    },
    "ValidatingAdmissionPolicyBinding": {
        "metadata": {"name": "ns-msg"},
        "spec": {
            "policyName": "ns-msg",
            "validationActions": ["Deny"],
            "matchResources": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}
            },
        },
    },
    "HorizontalPodAutoscaler": {
        "metadata": {"name": "min"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 5,
        },
    },
    "ValidatingWebhookConfiguration": {"metadata": {"name": "ns-v"}, "webhooks": []},
    "MutatingWebhookConfiguration": {
        "metadata": {"name": "ns-m"},
        "webhooks": [
            {
                "name": "a.ns.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1/hook"},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ],
            }
        ],
    },
    "Node": {"metadata": {"name": "ns-n"}},
    "Secret": {"metadata": {"name": "s"}},
    "Service": {"metadata": {"name": "1a"}, "spec": {"ports": [{"port": 80}]}},
    "Lease": {"metadata": {"name": "d"}},
    "Role": {"metadata": {"name": "r"}, "rules": []},
    "RoleBinding": {
        "metadata": {"name": "rb"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [],
    },
    "Namespace": {"metadata": {"name": "ns-b"}},
    "Event": {
        "metadata": {"name": "bare"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ns"},
    },
    "ClusterRole": {"metadata": {"name": "ns-role"}},
    "PersistentVolume": {
        "metadata": {"name": "ns-pv"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/a"},
        },
    },
    "StatefulSet": {
        "metadata": {"name": "st"},
        "spec": {
            "serviceName": "x",
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    },
    "PriorityClass": {"metadata": {"name": "ns-pc"}, "value": 5},
    "PodDisruptionBudget": {"metadata": {"name": "b"}, "spec": {}},
    "ControllerRevision": {"metadata": {"name": "l"}, "revision": 1, "data": {"a": "b"}},
    "ClusterRoleBinding": {
        "metadata": {"name": "ns-binding"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "ns-role",
        },
        "subjects": [{"kind": "Group", "name": "g"}],
    },
    "APIService": {
        "metadata": {"name": "v1.remote.ns.example.com"},
        "spec": {
            "group": "remote.ns.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"name": "absent", "namespace": "ns"},
        },
    },
    "CertificateSigningRequest": {
        "metadata": {"name": "ns-x"},
        "spec": {
            "signerName": "example.com/s",
            "usages": ["client auth"],
            "request": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWU1JR0FBZ0VBTUI0eEREQUtCZ05WQkFvTUEyUmxkakVPTUF3R0ExVUVBd3dGWVd4cFkyVXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVNvaWJSUE1KUGs2Zk51ZmFTSElwNEtjZ0hveVVtTHYwMFUxYTRGCnIwZFhwd3ZLTUc0d2NpMGl4K1NxYWczaHBqUDNUQ2NmWS8zdFV3dDQyUm91NzIwdm9BQXdDZ1lJS29aSXpqMEUKQXdJRFJ3QXdSQUlnWjhzTlhoZm1Bbkp1U2RIcXpOWjdvMUcwN3pwU21CeXBNM3V1dGdybXAzOENJQTJUbmVsNwovQlk3RDZONDY2cENwSjZDTmx0UWlNbWp1N1VURlQ3QklOWXgKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==",  # noqa: E501
        },
    },
    "Endpoints": {"metadata": {"name": "e"}},
    "StorageClass": {
        "metadata": {"name": "ns-sc"},
        "provisioner": "example.com/p",
        "parameters": {"type": "ssd"},
    },
    "PersistentVolumeClaim": {
        "metadata": {"name": "ok"},
        "spec": {
            "storageClassName": "s",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
    "Ingress": {
        "metadata": {"name": "def"},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    },
    "IngressClass": {
        "metadata": {"name": "ns-class"},
        "spec": {
            "controller": "example.com/c",
            "parameters": {"apiGroup": "k8s.example.com", "kind": "P", "name": "p"},
        },
    },
    "NetworkPolicy": {
        "metadata": {"name": "deny"},
        "spec": {"podSelector": {"matchLabels": {"a": "b"}}},
    },
    "EndpointSlice": {"metadata": {"name": "empty"}, "addressType": "IPv4", "endpoints": []},
    "LimitRange": {
        "metadata": {"name": "max"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
    },
    "RuntimeClass": {
        "metadata": {"name": "ns-rc"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
        "scheduling": {
            "nodeSelector": {"kata": "true"},
            "tolerations": [{"key": "kata", "operator": "Exists"}],
        },
    },
    "ResourceQuota": {
        "metadata": {"name": "compute"},
        "spec": {"hard": {"pods": "2", "requests.cpu": "1", "requests.memory": "1Gi"}},
    },
    "CSIDriver": {"metadata": {"name": "ns.csi.example.com"}, "spec": {}},
    "VolumeAttachment": {
        "metadata": {"name": "ns-va"},
        "spec": {
            "attacher": "example.com",
            "nodeName": "n",
            "source": {"persistentVolumeName": "pv"},
        },
    },
    "VolumeAttributesClass": {
        "metadata": {"name": "ns-vac"},
        "driverName": "example.com",
        "parameters": {"iops": "100"},
    },
    "CSINode": {
        "metadata": {"name": "ns-node"},
        "spec": {
            "drivers": [
                {
                    "name": "example.com",
                    "nodeID": "n1",
                    "topologyKeys": ["zone"],
                    "allocatable": {"count": 8},
                }
            ]
        },
    },
}
