"""For whom a node may have tokens of its pods' accounts: those audiences that the pods themselves
have them for, and what somebody has granted it (ServiceAccountNodeAudienceRestriction)."""

from __future__ import annotations

from admission.nodes.asked import Asked, Refusal
from apiserver.authz import attributes as authz
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

GATE = "ServiceAccountNodeAudienceRestriction"
VERB = "request-serviceaccounts-token-audience"
_CLAIMS, _VOLUMES = (GroupResource("", r) for r in ("persistentvolumeclaims", "persistentvolumes"))
_DRIVERS = GroupResource("storage.k8s.io", "csidrivers")
_MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}
"""The CSI drivers that have taken over volumes of Kubernetes' own (k8s.io/csi-translation-lib)."""


async def check(asked: Asked, pod: Object) -> None:
    """Raises Refusal."""
    audiences = asked.new["spec"].get("audiences") or [""]
    if len(audiences) > 1:
        raise Refusal("node may only request 0 or 1 audiences")
    audience: str = audiences[0]
    if await _has(asked, pod, audience):
        return
    attributes = asked.attributes
    question = authz.Attributes(
        attributes.user,
        VERB,
        group="",
        version="v1",
        resource=audience,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    if (await asked.authorize(asked.lookup, question)).allowed:
        return
    raise Refusal(
        f"audience {go_quote(audience)} not found in pod spec volume, {attributes.user.name} is "
        "not authorized to request tokens for this audience"
    )


async def _has(asked: Asked, pod: Object, audience: str) -> bool:
    """Whether one of the pod's volumes is for the audience. Raises Refusal where that cannot be
    told."""
    missing: list[str] = []
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token is not None and (token.get("audience") or "") == audience:
                return True
        try:
            if await _by_driver(asked, pod, volume, audience):
                return True
        except LookupError as error:
            missing.append(str(error.args[0]))
    if missing:
        told = missing[0] if len(missing) == 1 else f"[{', '.join(dict.fromkeys(missing))}]"
        raise Refusal(f"error validating audience {go_quote(audience)}: {told}")
    return False


async def _by_driver(asked: Asked, pod: Object, volume: Object, audience: str) -> bool:
    """Whether the driver of the volume wants tokens for the audience. Raises LookupError."""
    driver = await _driver_of(asked, pod, volume)
    if not driver:
        return False
    csi_driver = await asked.lookup.get(_DRIVERS, "", driver)
    if csi_driver is None:
        raise LookupError(f'csidriver.storage.k8s.io "{driver}" not found')
    requests = (csi_driver.get("spec") or {}).get("tokenRequests") or ()
    return any((request.get("audience") or "") == audience for request in requests)


async def _driver_of(asked: Asked, pod: Object, volume: Object) -> str:
    """ "" where the volume has none."""
    claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    if (volume.get("ephemeral") or {}).get("volumeClaimTemplate") is not None:
        claim = f"{pod['metadata']['name']}-{volume['name']}"
    if not claim:
        return _driver(volume)
    volume_claim = await asked.lookup.get(_CLAIMS, asked.attributes.namespace, claim)
    if volume_claim is None:
        raise LookupError(f'persistentvolumeclaim "{claim}" not found')
    name = (volume_claim.get("spec") or {}).get("volumeName", "")
    if not name:
        return ""
    bound = await asked.lookup.get(_VOLUMES, "", name)
    if bound is None:
        raise LookupError(f'persistentvolume "{name}" not found')
    return _driver(bound.get("spec") or {})


def _driver(source: Object) -> str:
    if driver := (source.get("csi") or {}).get("driver", ""):
        return str(driver)
    return next((d for kind, d in _MIGRATED.items() if source.get(kind) is not None), "")
