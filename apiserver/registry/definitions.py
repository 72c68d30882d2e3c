"""What a process keeps of one CustomResourceDefinition at one version: an outline for controllers,
the Resource that serves its objects.

Definitions can be megabytes large and a tenant can have hundreds, so nothing of a schema is kept
here: schemas are shared with equal definitions of other tenants and compiled at first use
(apiserver.kinds.apiextensions.schemas).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from apiserver.kinds import catalog
from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.apiextensions.approval import APPROVED
from apiserver.kinds.apiextensions.custom import CustomKind, CustomResource
from apiserver.kinds.apiextensions.resource import custom_resource
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.objects import Object
from apiserver.watch.entry import Entry

DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_METADATA = ("name", "uid", "deletionTimestamp", "finalizers")


@dataclass(slots=True, eq=False)
class Definition:
    """outline: metadata, group, names, conversion and status, without versions; served: names of
    the versions that it wants to be served; digest: of all that the resource is made from, deletion
    aside; resource: None while it is not served."""

    entry: Entry
    outline: Object
    served: tuple[str, ...]
    digest: bytes
    resource: CustomResource | None

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def group(self) -> str:
        group: str = self.outline["spec"]["group"]
        return group

    @property
    def deleting(self) -> bool:
        return bool(self.outline["metadata"].get("deletionTimestamp"))

    @property
    def ending(self) -> bool:
        """It is being deleted, and its instances have not been seen to."""
        return self.deleting and conditions.FINALIZER in (
            self.outline["metadata"].get("finalizers") or ()
        )

    @property
    def held(self) -> frozenset[str]:
        """The names that it has been given, those of resources told from those of kinds."""
        return names_of(self.outline["status"].get("acceptedNames") or {})

    @property
    def spec_names(self) -> frozenset[str]:
        return names_of(self.outline["spec"]["names"])


class Change(NamedTuple):
    """A definition as it was and as it is: None for one that was, or is, not there."""

    before: Definition | None
    after: Definition | None


def read(entry: Entry, before: Definition | None) -> Definition:
    """``before``: the definition of that name at the version known until now, whose resource stays
    when nothing changes but that it is being deleted."""
    crd = entry.object()
    spec, metadata, status = crd["spec"], crd["metadata"], crd.get("status") or {}
    text = orjson.dumps([spec, status.get("acceptedNames")], option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(text, digest_size=20).digest()
    served = tuple(v["name"] for v in spec.get("versions") or () if v.get("served"))
    resource = None
    if conditions.is_served(crd):
        resource_before = before.resource if before is not None else None
        alike = before is not None and before.digest == digest and before.entry.uid == entry.uid
        if resource_before is not None and alike:
            # also when it is deleted from now on: watches go on until the last instance is gone
            resource = resource_before
            assert isinstance(resource.hooks, CustomKind), "made by custom_resource"
            resource.terminating = resource.hooks.terminating = bool(
                metadata.get("deletionTimestamp")
            )
        else:
            resource = _unshadowing(custom_resource(crd))
            resource.digest = digest
    return Definition(entry, _outline(spec, metadata, status), served, digest, resource)


def _unshadowing(resource: CustomResource) -> CustomResource:
    """Without what belongs to Kubernetes' own versions, which nobody is asked about but this."""
    for name, version in resource.versions.items():
        if GroupVersion(resource.group, name) in catalog.whole_versions():
            version.served = False
    return resource


def _outline(spec: Object, metadata: Object, status: Object) -> Object:
    kept: dict[str, Any] = {name: metadata[name] for name in _METADATA if name in metadata}
    approval = (metadata.get("annotations") or {}).get(APPROVED)
    if approval is not None:
        kept["annotations"] = {APPROVED: approval}
    members = {
        "group": spec["group"],
        "names": spec.get("names") or {},
        "conversion": spec.get("conversion"),
    }
    return {
        "metadata": kept,
        "spec": members,
        "status": {k: status[k] for k in ("acceptedNames", "conditions") if k in status},
    }


def names_of(names: Object) -> frozenset[str]:
    resources = {names.get("plural"), names.get("singular"), *(names.get("shortNames") or ())}
    kinds = {names.get("kind"), names.get("listKind")}
    return frozenset({f"resource/{n}" for n in resources if n} | {f"kind/{n}" for n in kinds if n})
