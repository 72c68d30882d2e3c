"""What updates are asked, and how often, where kinds differ: rules that random mutations of valid
objects brought to light."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.meta.raw import RawObject
from apiserver.registry import objectmeta
from tests.support.kindtools import create, pod, update, workload

Objects = dict[str, Any]


def edited(obj: Objects, path: str, value: Any) -> Objects:
    """A copy; ``path``: members joined by dots, numbers are indexes; None removes."""
    out = copy.deepcopy(obj)
    *steps, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    node: Any = out
    for step in steps:
        node = node[step] if isinstance(step, int) else node.setdefault(step, {})
    if value is None:
        del node[last]
    else:
        node[last] = value
    return out


def sent(api_version: str, kind: str, **rest: Any) -> Objects:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **rest}


CIDR = sent("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": ["192.168.0.0/16"]})
SLICE = sent(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    addressType="IPv4",
    endpoints=[{"addresses": ["192.0.2.1"]}],
)
EVENT = sent(
    "events.k8s.io/v1",
    "Event",
    regarding={"namespace": "ns", "kind": "Pod"},
    eventTime="2026-01-01T00:00:00.000000Z",
    reportingController="example.com/c",
    reportingInstance="i",
    action="a",
    reason="r",
    type="Normal",
    note="n",
)
JOB = workload("Job", "batch/v1", {"restartPolicy": "Never"}, manualSelector=True)
CAPACITY = sent(
    "storage.k8s.io/v1",
    "CSIStorageCapacity",
    storageClassName="c",
    nodeTopology={"matchLabels": {"a": "b"}},
)
CSI_NODE = sent(
    "storage.k8s.io/v1",
    "CSINode",
    spec={"drivers": [{"name": "d.x", "nodeID": "n", "topologyKeys": None}]},
)
REVISION = sent("apps/v1", "ControllerRevision", revision=1, data={"a": 1})
CLAIM = sent(
    "resource.k8s.io/v1",
    "ResourceClaim",
    spec={
        "devices": {
            "requests": [],
            "config": [
                {"opaque": {"driver": "d.x", "parameters": RawObject({}, '{"b":1,\n"a":2.0}')}}
            ],
        }
    },
)
SELECTOR = "`selector` does not match template `labels`"


@pytest.mark.parametrize(
    ("obj", "path", "value", "messages"),
    [
        (  # ranges that stay are not looked at again
            CIDR,
            "spec.cidrs.0",
            "x",
            ['spec.cidrs[0]: Invalid value: "x": field is immutable'],
        ),
        (  # what may come is
            CIDR,
            "spec.cidrs",
            ["192.168.0.0/16", "10.0.0.0/8"],
            [
                'spec.cidrs: Invalid value: ["192.168.0.0/16","10.0.0.0/8"]: may specify no more '
                "than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
        ),
        (
            SLICE,
            "addressType",
            "IPv6",
            ['addressType: Invalid value: "IPv6": field is immutable'],
        ),
        (EVENT, "note", None, ['message: Invalid value: "": field is immutable']),
        (
            EVENT,
            "regarding.kind",
            "x",
            [
                'involvedObject: Invalid value: {"Kind":"x","Namespace":"ns","Name":"","UID":"",'
                '"APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable'
            ],
        ),
        (  # members in the order of the Go type
            CAPACITY,
            "nodeTopology.matchExpressions",
            [{"key": "k", "operator": "Exists"}],
            [
                'nodeTopology: Invalid value: {"matchLabels":{"a":"b"},'
                '"matchExpressions":[{"key":"k","operator":"Exists"}]}: field is immutable'
            ],
        ),
        (CAPACITY, "nodeTopology.matchExpressions", [], []),
        (  # one that selects everything is not none
            edited(CAPACITY, "nodeTopology", None),
            "nodeTopology",
            {},
            ["nodeTopology: Invalid value: {}: field is immutable"],
        ),
        (CSI_NODE, "spec.drivers.0.topologyKeys", [], []),
        (  # that there are data is asked of new ones
            REVISION,
            "data",
            None,
            ["data: Invalid value: null: field is immutable"],
        ),
        (  # raw parameters as they are spelled
            CLAIM,
            "spec.devices.constraints",
            [{"matchAttribute": "d.x/a"}],
            [
                'spec: Invalid value: {"Devices":{"Requests":[],"Constraints":[{"Requests":null,'
                '"MatchAttribute":"d.x/a","DistinctAttribute":null}],"Config":[{"Requests":null,'
                '"Opaque":{"Driver":"d.x","Parameters":{"b":1,"a":2.0}}}]}}: field is immutable'
            ],
        ),
        (  # a job is validated twice
            JOB,
            "spec.podReplacementPolicy",
            "x",
            [
                'spec.podReplacementPolicy: Unsupported value: "x": supported values: "Failed", '
                '"TerminatingOrFailed"'
            ]
            * 2,
        ),
    ],
)
def test_update(obj: Objects, path: str, value: Any, messages: list[str]) -> None:
    stored = create(obj)
    assert stored.messages == []
    assert update(edited(stored.obj, path, value), stored.obj).messages == messages


def test_a_refused_pod_update_shows_a_diff() -> None:
    stored = create(pod(nodeName="a")).obj
    (message,) = update(edited(stored, "spec.nodeName", "b"), stored).messages
    assert message.endswith(
        '  "AutomountServiceAccountToken": null,\n- "NodeName": "a",\n+ "NodeName": "b",\n'
        '  "SecurityContext": {\n   "HostNetwork": false,\n   "HostPID": false,\n'
    )


@pytest.mark.parametrize(
    ("obj", "path", "value", "messages"),
    [
        (
            sent("policy/v1", "PodDisruptionBudget", spec={}),
            "spec",
            {"minAvailable": 1, "maxUnavailable": "1%", "selector": {"matchLabels": {"a": "b"}}},
            [
                'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"a":"b"}},'
                '"MaxUnavailable":"1%","UnhealthyPodEvictionPolicy":null}: minAvailable and '
                "maxUnavailable cannot be both set"
            ],
        ),
        (
            SLICE,
            "endpoints.0.hints",
            {"forZones": [{"name": "a"}, {"name": "a"}]},
            ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"'],
        ),
        (  # what is deleted cannot be mutated
            sent(
                "admissionregistration.k8s.io/v1",
                "MutatingAdmissionPolicy",
                spec={
                    "matchConstraints": {
                        "resourceRules": [
                            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
                        ]
                    },
                    "reinvocationPolicy": "Never",
                    "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": ""}}],
                },
            ),
            "spec.matchConstraints.resourceRules.0.operations",
            ["DELETE"],
            [
                'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": '
                'supported values: "*", "CONNECT", "CREATE", "UPDATE"',
                "spec.mutations[0].jsonPatch.expression: Required value",
            ],
        ),
        (
            pod(),
            "spec.securityContext",
            {"seLinuxChangePolicy": "MountOption"},
            [
                'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": '
                'supported values: "Recursive"'
            ],
        ),
        (
            workload("StatefulSet", serviceName="s"),
            "spec.selector",
            {"matchLabels": {"app": "/"}},
            None,
        ),
        (
            workload("StatefulSet"),
            "spec.updateStrategy",
            {"type": "x", "rollingUpdate": {"maxUnavailable": 2}},
            [
                'spec.updateStrategy: Invalid value: {"Type":"x","RollingUpdate":{"Partition":0,'
                "\"MaxUnavailable\":null}}: must be 'RollingUpdate' or 'OnDelete'"
            ],
        ),
        (
            sent("v1", "Node", spec={}),
            "spec.podCIDRs",
            ["a", "10.0.0.0/8"],
            [
                "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack "
                "with error:invalid CIDR[0]: <nil> (invalid CIDR address: a)",
                'spec.podCIDRs: Invalid value: ["a","10.0.0.0/8"]: may specify no more than one '
                "CIDR for each IP family",
                'spec.podCIDRs[0]: Invalid value: "a": must be a valid CIDR value, (e.g. '
                "10.9.8.0/24 or 2001:db8::/64)",
            ],
        ),
        (
            sent("networking.k8s.io/v1", "Ingress", spec={}),
            "spec.defaultBackend",
            {"service": {"name": "1-name-may-begin-with-a-digit", "port": {"number": 1}}},
            [],
        ),
    ],
)
def test_create(obj: Objects, path: str, value: Any, messages: list[str] | None) -> None:
    """None: the template beside a selector that makes no sense is not told of."""
    found = create(edited(obj, path, value)).messages
    if messages is None:
        assert found
        assert not any("template" in message for message in found)
    else:
        assert sorted(found) == sorted(messages)


LABELS, FINALIZER = "metadata.labels", "metadata.finalizers[0]"


@pytest.mark.parametrize(
    ("resource", "labels", "finalizers", "immutable"),
    [
        (GroupResource("batch", "jobs"), 4, 2, 2),
        (GroupResource("apps", "daemonsets"), 3, 1, 2),
        (GroupResource("networking.k8s.io", "networkpolicies"), 3, 1, 2),
        (GroupResource("networking.k8s.io", "ipaddresses"), 4, 2, 2),
        (GroupResource("discovery.k8s.io", "endpointslices"), 3, 1, 1),
        (GroupResource("", "events"), 2, 0, 1),
        (GroupResource("events.k8s.io", "events"), 3, 1, 2),
        (GroupResource("policy", "poddisruptionbudgets"), 2, 0, 1),
    ],
)
def test_metadata_is_validated_as_often_as_by_upstream(
    resource: GroupResource, labels: int, finalizers: int, immutable: int
) -> None:
    """Of an update: a label, a finalizer, and a change of what may not change."""
    served = catalog.resources()[resource]
    metadata = {"name": "1.1.1.1", "uid": "u", "resourceVersion": "1"}
    if served.namespaced:
        metadata["namespace"] = "ns"
    new = {"metadata": {**metadata, "labels": {"a": "/"}, "finalizers": ["x"], "uid": "v"}}
    errors = objectmeta.validate_update(
        new, {"metadata": metadata}, served.hooks, namespaced=served.namespaced, whole=True
    )
    paths = [error.path for error in errors]
    assert paths.count(LABELS) == labels
    assert paths.count(FINALIZER) == finalizers
    assert paths.count("metadata.uid") == immutable


def test_a_budget_may_have_any_name_that_fits_into_a_url() -> None:
    hooks = catalog.resources()[GroupResource("policy", "poddisruptionbudgets")].hooks

    def texts(name: str, **more: str) -> list[str]:
        obj = {"metadata": {"name": name, "namespace": "ns", **more}}
        return [e.path for e in objectmeta.common_errors(obj, hooks, namespaced=True)]

    assert texts("Any*Name") == []
    assert texts("a/b") == ["metadata.name"]


def test_so_does_the_beginning_of_a_generated_name() -> None:
    """Where the kind looks at names alone."""
    hooks = catalog.resources()[GroupResource("resource.k8s.io", "deviceclasses")].hooks
    obj = {"metadata": {"name": "a", "generateName": "a/"}}
    assert [str(e) for e in objectmeta.common_errors(obj, hooks, namespaced=False)] == [
        "metadata.generateName: Invalid value: \"a/\": may not contain '/'"
    ]


@pytest.mark.parametrize("path", ["spec.template.spec.schedulingGroup", "spec.schedulingGroup"])
def test_fields_of_features_that_are_off_are_decided_on_after_ownership(path: str) -> None:
    """They are there when owners are settled, and gone from what is stored."""
    obj = pod() if path == "spec.schedulingGroup" else workload("ReplicaSet")
    made = create(edited(obj, path, {})).obj
    spec = made["spec"] if obj["kind"] == "Pod" else made["spec"]["template"]["spec"]
    assert "schedulingGroup" not in spec


@pytest.mark.parametrize(
    ("before", "after", "replicas", "warned"),
    [
        ("old", "", 1, True),
        ("", "old", 1, False),
        ("old", "old", 2, True),
        ("old", "old", 1, False),
    ],
)
def test_controllers_are_warned_of_the_template_that_they_had(
    before: str, after: str, replicas: int, warned: bool
) -> None:
    """kube-apiserver's registry/core/replicationcontroller hands over the old one as the new one;
    only where the generation changes. ``before``, ``after``: gitRepo volumes."""

    def controller(repository: str, replicas: int) -> Objects:
        volumes = [{"name": "g", "gitRepo": {"repository": repository}}] if repository else []
        made = workload("ReplicationController", "v1", {"volumes": volumes}, replicas=replicas)
        return {**made, "spec": {**made["spec"], "selector": {"app": "x"}}}

    old = create(controller(before, 1))
    assert bool(old.warnings) == bool(before)
    wanted = {**controller(after, replicas), "metadata": old.obj["metadata"]}
    made = update(wanted, old.obj)
    assert made.errors == []
    assert bool(made.warnings) == warned
