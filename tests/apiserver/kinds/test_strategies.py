"""What strategies of single kinds keep, drop and warn of, where they differ from others
(``PrepareForUpdate``, ``WarningsOnCreate`` and ``WarningsOnUpdate`` in kubernetes
``pkg/registry``)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.kinds import catalog
from apiserver.kinds.base import WriteContext
from apiserver.kinds.core.pod import Pod
from tests.support.kindtools import NOW, create, pod, typed, update, workload

Json = dict[str, Any]
LATER = "2026-01-01T00:00:00Z"
UNUSUAL = "2001:db8:0::1"
SHOULD = f'IPv6 address "{UNUSUAL}" should be in RFC 5952 canonical format ("2001:db8::1")'


def sent(kind: str, api_version: str = "v1", **rest: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **rest}


def changed(obj: Json, *, metadata: Json | None = None, **members: Any) -> Json:
    """A copy with other members; those that are dictionaries are laid over the old ones."""
    out = copy.deepcopy(obj)
    out["metadata"].update(metadata or {})
    for name, value in members.items():
        out[name] = {**(out.get(name) or {}), **value}
    return out


# --- what all strategies answer -------------------------------------------------------------------
def kinds_that(attribute: str, value: bool) -> set[str]:
    return {
        str(resource.storage)
        for resource in catalog.resources().values()
        if getattr(resource.hooks, attribute) is value and "polyplane" not in resource.group
    }


def test_who_is_created_by_a_put() -> None:
    roles = {"roles", "rolebindings", "clusterroles", "clusterrolebindings"}
    assert kinds_that("allow_create_on_update", True) == {
        "endpoints",
        "events",
        "leases.coordination.k8s.io",
        "limitranges",
        "runtimeclasses.node.k8s.io",
        "services",
        *(f"{role}.rbac.authorization.k8s.io" for role in roles),
    }


def test_who_answers_a_deletion_with_the_object() -> None:
    core = {"persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates"}
    storage = {"csidrivers", "csinodes", "storageclasses", "volumeattachments"}
    devices = {"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"}
    assert kinds_that("returns_deleted", True) == {
        *core,
        "resourcequotas",
        "serviceaccounts",
        "services",
        *(f"{name}.storage.k8s.io" for name in {*storage, "volumeattributesclasses"}),
        *(f"{name}.resource.k8s.io" for name in devices),
    }


def test_who_is_not_overwritten_without_a_version() -> None:
    admission = {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}
    admission |= {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
    admission |= {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}
    storage = {"csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"}
    assert kinds_that("allow_unconditional_update", False) == {
        *(f"{name}.admissionregistration.k8s.io" for name in admission),
        *(f"{name}.storage.k8s.io" for name in storage),
        "apiservices.apiregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "leases.coordination.k8s.io",
        "poddisruptionbudgets.policy",
        "runtimeclasses.node.k8s.io",
    }


# --- nodes ----------------------------------------------------------------------------------------
def test_a_node_gets_no_configuration_that_it_did_not_have() -> None:
    source = {"configMap": {"name": "m", "namespace": "n", "kubeletConfigKey": "k"}}
    old = create(sent("Node", spec={})).obj
    made = update(changed(old, spec={"configSource": source}), old)
    assert "configSource" not in made.obj["spec"] and made.warnings == []
    told = update(changed(old, status={"config": {"error": "e"}}), old, "status")
    assert "config" not in told.obj["status"]
    before = changed(old, spec={"configSource": source}, status={"config": {"error": "e"}})
    kept = update(before, before)
    assert kept.obj["spec"]["configSource"] == source
    assert kept.warnings == ["spec.configSource: the feature is removed"]
    told = update(changed(before, status={"config": {"error": "f"}}), before, "status")
    assert told.obj["status"]["config"] == {"error": "f"} and told.warnings == []


def test_ranges_of_a_node_in_an_unusual_form() -> None:
    ranges = ["2001:db8:0::/64"]
    made = create(sent("Node", spec={"podCIDRs": ranges}))
    assert made.warnings == [
        f'spec.podCIDRs[0]: IPv6 CIDR value "{ranges[0]}" should be in RFC 5952 canonical format '
        '("2001:db8::/64")'
    ]
    assert update(made.obj, made.obj).warnings == made.warnings
    assert update(made.obj, made.obj, "status").warnings == []


# --- volumes and claims ---------------------------------------------------------------------------
def volume(**spec: Any) -> Json:
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}
    return sent("PersistentVolume", spec=base)


def test_deprecated_ways_to_describe_a_volume() -> None:
    wanted = volume(photonPersistentDisk={"pdID": "v"})
    wanted["metadata"]["annotations"] = {"volume.beta.kubernetes.io/mount-options": "ro"}
    assert create(wanted).warnings == [
        "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; "
        'use "mountOptions" attribute instead',
        "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    ]
    assert create(volume(storageos={"volumeName": "v"})).warnings == [
        "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"
    ]


def test_when_a_volume_came_into_its_phase() -> None:
    moved = "lastPhaseTransitionTime"
    old = create(volume(hostPath={"path": "/x"})).obj
    since = old["status"][moved]
    silent = changed(old, status={"message": "m"})
    del silent["status"][moved]
    assert update(silent, old, "status").obj["status"][moved] == since
    told = update(changed(old, status={moved: LATER}), old, "status")
    assert told.obj["status"][moved] == LATER
    bound = changed(old, status={"phase": "Bound", moved: LATER})
    assert update(bound, old, "status").obj["status"][moved] == LATER
    assert update(changed(old, status={"phase": "Bound"}), bound, "status").obj["status"] == (
        bound["status"] | {moved: since}
    )


def claim(**spec: Any) -> Json:
    base = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return sent("PersistentVolumeClaim", spec={**base, **spec})


@pytest.mark.parametrize("member", ["dataSource", "dataSourceRef"])
def test_a_claim_is_sent_again_as_it_was_made(member: str) -> None:
    wanted = claim(**{member: {"kind": "PersistentVolumeClaim", "name": "c"}})
    old = create(wanted).obj
    again = update({**wanted, "metadata": copy.deepcopy(old["metadata"])}, old)
    assert again.messages == []
    assert again.obj["spec"]["dataSource"] == again.obj["spec"]["dataSourceRef"]


def test_data_that_moves_to_another_namespace_is_seen_to_change() -> None:
    old = create(claim(dataSourceRef={"kind": "PersistentVolumeClaim", "name": "c"})).obj
    foreign = {"kind": "PersistentVolumeClaim", "name": "c", "namespace": "other"}
    wanted = changed(claim(dataSourceRef=foreign), metadata=old["metadata"])
    made = update(wanted, old)
    assert made.obj["spec"]["dataSourceRef"] == {**foreign, "apiGroup": None}
    [message] = made.messages
    assert '"Namespace": "other"' in message


# --- endpoints ------------------------------------------------------------------------------------
def test_the_controller_of_endpoints_is_not_warned() -> None:
    subsets = [{"addresses": [{"ip": UNUSUAL}], "ports": [{"port": 1}]}]
    mine = sent("Endpoints", subsets=subsets)
    assert create(mine).warnings == [f"subsets[0].addresses[0].ip: {SHOULD}"]
    mine["metadata"]["labels"] = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert create(mine).warnings == []


def test_an_address_among_names() -> None:
    endpoints = [{"addresses": ["010.0.0.1"]}]
    wanted = sent("EndpointSlice", "discovery.k8s.io/v1", addressType="FQDN", endpoints=endpoints)
    unusual = (
        'endpoints[0].addresses[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'
    )
    made = create(wanted)
    assert made.warnings == ["spec.addressType: FQDN endpoints are deprecated", unusual]
    assert update(made.obj, made.obj).warnings == [unusual]


# --- devices ----------------------------------------------------------------------------------
def test_what_is_dropped_of_a_slice_counts_as_a_change() -> None:
    pool = {"name": "p", "resourceSliceCount": 1, "generation": 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": [{"name": "d"}]}
    old = create(sent("ResourceSlice", "resource.k8s.io/v1", spec=spec)).obj
    assert update(old, old).obj["metadata"]["generation"] == 1
    off = {"name": "d", "attributes": {"a": {"string": "s", "ints": [1]}}}
    same = changed(old, spec={"devices": [{"name": "d", "attributes": {"a": {"string": "s"}}}]})
    made = update(changed(same, spec={"devices": [off]}), same)
    assert made.obj["spec"]["devices"] == same["spec"]["devices"]
    assert made.obj["metadata"]["generation"] == 2


# --- templates ------------------------------------------------------------------------------------
SYSCTLS = "security.alpha.kubernetes.io/sysctls"
OLD_SYSCTLS = f'{SYSCTLS}]: non-functional in v1.11+; use the "sysctls" field instead'


def test_a_pod_template_is_warned_of_when_it_changes() -> None:
    annotated = {"annotations": {SYSCTLS: "x"}}
    template = {"metadata": annotated, "spec": pod()["spec"]}
    old = create(sent("PodTemplate", template=template))
    assert old.warnings == [f"template.metadata.annotations[{OLD_SYSCTLS}"]
    assert update(changed(old.obj, metadata={"labels": {"a": "b"}}), old.obj).warnings == []
    other = changed(old.obj, template={"metadata": {**annotated, "labels": {"a": "b"}}})
    assert update(other, old.obj).warnings == old.warnings


@pytest.mark.parametrize(
    ("annotation", "field", "warned", "kept"),
    [
        ("unconfined", None, True, {"type": "Unconfined"}),
        ("unconfined", {"type": "Unconfined"}, False, {"type": "Unconfined"}),
        ("nonsense", None, True, None),
    ],
)
def test_a_pods_own_annotation_for_apparmor(
    annotation: str, field: Json | None, warned: bool, kept: Json | None
) -> None:
    """A field that is there is not what the annotation made of it."""
    obj, said = typed(pod()), []
    container = obj["spec"]["containers"][0]
    if field is not None:
        container["securityContext"] = {"appArmorProfile": field}
    key = "container.apparmor.security.beta.kubernetes.io/c"
    obj["metadata"]["annotations"] = {key: annotation}
    Pod().prepare_create(obj, WriteContext("v1", NOW, warn=said.append))
    assert bool(said) is warned
    assert (container.get("securityContext") or {}).get("appArmorProfile") == kept


def test_no_status_is_warned_of_what_the_spec_says() -> None:
    sets = create(workload("StatefulSet", revisionHistoryLimit=-1)).obj
    assert len(update(changed(sets, spec={"replicas": 2}), sets).warnings) == 1
    assert update(changed(sets, status={"replicas": 1}), sets, "status").warnings == []
    template = {"spec": {**pod()["spec"], "restartPolicy": "Never"}}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    jobs = create(sent("CronJob", "batch/v1", spec=spec)).obj
    jobs["spec"]["schedule"] = "TZ=UTC * * * * *"  # as it could be before 1.25
    assert len(update(jobs, jobs).warnings) == 1
    assert update(jobs, jobs, "status").warnings == []
