"""Built-in resources: kinds that every tenant has, decoded by a schema of their own into values
that hold nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from apiserver.codec import negotiate
from apiserver.errors import BadRequest
from apiserver.fieldmanager import reset
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.golang.strconv import go_quote
from apiserver.kinds.served import Resource, ServedVersion
from apiserver.meta import raw
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.schema.decode import decode
from apiserver.schema.decode_errors import Empty
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.stored import null_empty_lists

_METADATA = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""Members in the order of Go's struct ObjectMeta."""

_PREFIXES = {
    GroupResource("", "replicationcontrollers"): "controllers",
    GroupResource("", "endpoints"): "services/endpoints",
    GroupResource("", "services"): "services/specs",
    GroupResource("", "nodes"): "minions",
    GroupResource("networking.k8s.io", "ingresses"): "ingress",
}
"""Where kube-apiserver keeps what it does not keep under the resource's name (kubeapiserver
``default_storage_factory_builder.go``)."""
_SERVERS_OF_THEIR_OWN = ("apiextensions.k8s.io", "apiregistration.k8s.io")


@dataclass(slots=True, eq=False)
class BuiltinResource(Resource):
    """A Resource of Kubernetes' own (see `apiserver.kinds.catalog`)."""

    encodings: ClassVar[tuple[str, ...]] = negotiate.ALL
    patch_types: ClassVar[tuple[str, ...]] = negotiate.BUILTIN_PATCHES
    has_routes: ClassVar[bool] = True
    has_go_type: ClassVar[bool] = True
    versions_may_go: ClassVar[bool] = False
    removed_as_stored: ClassVar[bool] = False
    checks_scale: ClassVar[bool] = True
    applies_scale: ClassVar[bool] = True

    def decode(
        self, served: ServedVersion, value: Any, empties: list[Empty] | None = None
    ) -> tuple[Object, list[str]]:
        decoded = decode(served.schema, value)
        if empties is not None:
            empties[:] = decoded.empties
        obj: Object = decoded.value
        obj.setdefault("metadata", {})
        if _resets_managers(value):
            obj["metadata"]["managedFields"] = []
        apply_defaults(served.schema, obj)
        self.hooks.default(obj, served.version)
        obj["kind"], obj["apiVersion"] = self.kind, self.gvk(served.version).api_version
        return obj, decoded.strict

    def settle(self, served: ServedVersion, obj: Object) -> None:
        null_empty_lists(served.schema, obj)

    def loads(self, data: bytes) -> Object:
        fields = self.hooks.raw_fields
        obj: Object = raw.loads(data.decode(), raw.way_of(fields)) if fields else orjson.loads(data)
        return obj

    def dumps(self, obj: Object) -> bytes:
        return raw.dumps(obj) if self.hooks.raw_fields else orjson.dumps(obj)

    def ordered_metadata(self, metadata: Object) -> Object:
        ordered = {name: metadata[name] for name in _METADATA if name in metadata}
        return ordered if len(ordered) == len(metadata) else {**ordered, **metadata}

    @property
    def etcd_prefix(self) -> str:
        if self.storage.group in _SERVERS_OF_THEIR_OWN:
            return f"{self.storage.group}/{self.storage.resource}"
        return _PREFIXES.get(self.storage, self.storage.resource)

    def serves_as_stored(self, version: str) -> bool:
        """What keeps the text that was sent is shown without its spaces."""
        return (
            version == self.storage_version
            and self.storage == self.group_resource
            and not self.hooks.raw_fields
        )

    def stored_field(self, version: str, name: str) -> str:
        own = self.selectable(version)
        if name == "metadata.name" or (
            name == "metadata.namespace" and (self.namespaced or not own)
        ):
            return name
        if not own:
            raise BadRequest(
                f'{go_quote(name)} is not a known field selector: only "metadata.name", '
                f'"metadata.namespace"'
            )
        stored = self.hooks.field_alias(version, name)
        if not stored or stored not in own:
            raise BadRequest(self.hooks.unknown_field(version, name))
        return stored

    def reset_fields(self) -> reset.Filters:
        versions = {self.gvk(v).api_version: served for v, served in self.versions.items()}
        subresources = {name for served in versions.values() for name in served.subresources}
        return reset.built_in(self.group_resource, versions, subresources)

    def no_such_version(self, api_version: str) -> Exception:
        return MissingVersion(api_version)

    def replicas_path(self, version: str) -> str:
        return ".spec.replicas" if "scale" in self.versions[version].subresources else ""


@dataclass(slots=True, eq=False)
class OwnResource(BuiltinResource):
    """A Resource of Polyplane's own groups, which have no protobuf messages, as those of aggregated
    API servers often have none."""

    encodings: ClassVar[tuple[str, ...]] = negotiate.CUSTOM


def _resets_managers(value: Any) -> bool:
    """managedFields: [] is the one empty list with omitempty that means something: to a field
    manager it is not an absent one."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []
