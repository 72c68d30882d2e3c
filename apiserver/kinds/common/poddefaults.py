"""Defaults of pods and pod templates that OpenAPI cannot express.

Source: k8s.io/kubernetes ``apis/core/v1/defaults.go`` and ``conversion.go``. Templates get
`default_template`, pods `default_pod` and `default_pod_spec`. All functions change the object in
place and may run again on their own result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.kinds.common import imagenames, podresources
from apiserver.kinds.common.amounts import round_requirements, round_up
from apiserver.kinds.common.claims import default_claim_spec
from apiserver.kinds.common.objectmeta import drop_annotations
from apiserver.kinds.common.visit import containers
from apiserver.meta.objects import Object

_FILE_MODE = 0o644
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
INIT_ANNOTATIONS = frozenset(
    f"pod.{stage}.kubernetes.io/init-container{what}"
    for stage in ("alpha", "beta")
    for what in ("s", "-statuses")
)
"""What old clients wrote before there were fields; of pods and of templates."""


def default_template(template: Object) -> None:
    default_pod_spec(template.setdefault("spec", {}))
    if template.get("metadata"):
        drop_annotations(template["metadata"], INIT_ANNOTATIONS)


def default_pod_spec(spec: Object) -> None:
    """What both pods and templates get."""
    _set(spec, dnsPolicy="ClusterFirst", restartPolicy="Always", schedulerName="default-scheduler")
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    _sync_service_account(spec)
    for container in containers(spec):
        _default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    round_up(spec.get("overhead"))
    round_requirements(spec.get("resources"))


def default_pod(spec: Object) -> None:
    """What only pods get, so that it does not show up in every template; before amounts are
    rounded, which those of the whole pod are made of."""
    for container in containers(spec, "containers", "initContainers"):
        _requests_from_limits(container.setdefault("resources", {}))
    podresources.default_pod_level(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        for container in containers(spec, "containers", "initContainers"):
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def _set(obj: Object, **defaults: Any) -> None:
    """Fills members that are absent or Go's zero value."""
    for name, value in defaults.items():
        if not obj.get(name):
            obj[name] = value


def _sync_service_account(spec: Object) -> None:
    """``serviceAccount`` is the deprecated twin of ``serviceAccountName``, kept equal by the
    conversion to and from v1."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _default_container(container: Object) -> None:
    pull = pull_policy(container.get("image", ""))
    _set(
        container,
        imagePullPolicy=pull,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    round_requirements(container.setdefault("resources", {}))
    for port in container.get("ports") or ():
        _set(port, protocol="TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        _default_field_ref(source.get("fieldRef"))
        _default_divisor(source.get("resourceFieldRef"))
        file_key = source.get("fileKeyRef")
        if file_key is not None and file_key.get("optional") is None:
            file_key["optional"] = False
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _set(container[name], **_PROBE)
            _default_handler(container[name])
    for name in ("postStart", "preStop"):
        _default_handler((container.get("lifecycle") or {}).get(name))


def _default_handler(handler: Object | None) -> None:
    if handler and handler.get("httpGet") is not None:
        _set(handler["httpGet"], path="/", scheme="HTTP")
    if handler and handler.get("grpc") is not None and handler["grpc"].get("service") is None:
        handler["grpc"]["service"] = ""


def pull_policy(image: str) -> str:
    """Always for ``:latest`` (also when no tag and no digest is given), IfNotPresent otherwise, and
    for what is no name of an image."""
    return "Always" if imagenames.tag(image) == "latest" else "IfNotPresent"


_SOURCES: Mapping[str, Mapping[str, Any]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


_AZURE_DISK = {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False}
"""Pointers in Go: an empty text is none of these."""


def default_sources(volume: Object) -> None:
    """Defaults of the sources that volumes of pods and PersistentVolumes share."""
    for name, defaults in _SOURCES.items():
        if volume.get(name) is not None:
            _set(volume[name], **defaults)
    if (disk := volume.get("azureDisk")) is not None:
        disk |= {k: v for k, v in _AZURE_DISK.items() if disk.get(k) is None}
    if volume.get("hostPath") is not None and volume["hostPath"].get("type") is None:
        volume["hostPath"]["type"] = ""


def default_volume(volume: Object) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if volume.get(name) is not None and volume[name].get("defaultMode") is None:
            volume[name]["defaultMode"] = _FILE_MODE
    default_sources(volume)
    _default_items(volume.get("downwardAPI"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_items(source.get("downwardAPI"))
        token = source.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = 3600
    if volume.get("image") is not None:
        _set(volume["image"], pullPolicy=pull_policy(volume["image"].get("reference", "")))
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template.setdefault("spec", {}))


def _default_items(source: Object | None) -> None:
    for item in (source or {}).get("items") or ():
        _default_field_ref(item.get("fieldRef"))
        _default_divisor(item.get("resourceFieldRef"))


def _default_field_ref(ref: Object | None) -> None:
    if ref is not None:
        _set(ref, apiVersion="v1")


def _default_divisor(ref: Object | None) -> None:
    """Go's zero quantity, which encodes as "0"."""
    if ref is not None and ref.get("divisor") is None:
        ref["divisor"] = "0"


def _requests_from_limits(requirements: Object) -> None:
    if requirements.get("limits") is not None:
        requests = requirements.get("requests") or {}
        requirements["requests"] = {**requirements["limits"], **requests}
