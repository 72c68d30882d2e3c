"""Resources: what is served, in which versions, with which subresources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from apiserver.fieldmanager.reset import Filters
from apiserver.kinds.base import Column, Kind
from apiserver.meta.gvk import GroupKind, GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.schema.decode_errors import Empty
from apiserver.schema.types import Schema

OWN_PLACE = GroupResource("", "")
_KNOWN_REVIEWS = ("v1", "v1beta1")
_UNAVAILABLE = re.compile(r"unavailable in v(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class ConversionWebhook:
    """What a definition says about its webhook. config: the clientConfig; review: the version of
    ConversionReview to send."""

    config: Mapping[str, Any]
    review: str

    @classmethod
    def of(cls, spec: Object) -> ConversionWebhook | None:
        """``spec``: of a CustomResourceDefinition. None where apiVersion is all that conversion
        changes."""
        conversion = spec.get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        webhook = conversion.get("webhook") or {}
        versions = [v for v in webhook.get("conversionReviewVersions") or () if v in _KNOWN_REVIEWS]
        return cls(webhook.get("clientConfig") or {}, versions[0] if versions else "")


@dataclass(frozen=True, slots=True)
class Subresource:
    """name: "status", "scale", ...; kind: what it takes and gives; verbs as in discovery."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(slots=True, eq=False)
class ServedVersion:
    """One version of a resource. deprecated: text of the Warning header ("" when not
    deprecated). routes: what requests that it serves have in common, once one has come."""

    version: str
    schema: Schema
    verbs: tuple[str, ...]
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    deprecated: str = ""
    served: bool = True
    routes: set[tuple[object, ...]] = field(default_factory=set, compare=False, repr=False)

    @property
    def removed_release(self) -> str:
        """Of Kubernetes: the first one without this version, "" where there is none yet."""
        match = _UNAVAILABLE.search(self.deprecated)
        return match[1] if match else ""

    @property
    def unprepared(self) -> int:
        """Bytes of a schema that has not been compiled yet: `prepare` takes its time."""
        return 0

    def prepare(self) -> None:
        """Makes the schema ready for use."""


@dataclass(slots=True, eq=False)
class Resource:
    """A served collection. ``versions`` in order of preference; ``storage`` names where its objects
    are kept (core events and events.k8s.io events share one place).

    What differs between kinds that are built in and kinds that a definition makes is said by the
    two subclasses, `apiserver.kinds.builtin.BuiltinResource` and
    `apiserver.kinds.apiextensions.custom.CustomResource`; nobody else asks which one it is.

    definition: uid of the CustomResourceDefinition, "" where there is none; webhook: who converts
    its objects (None: only their apiVersion changes, or the kind's hooks convert); terminating: the
    definition is being deleted; digest: of what the definition says, but for deletion; manager: the
    FieldManager, once one is needed."""

    group: str
    resource: str
    kind: str
    list_kind: str
    singular: str
    namespaced: bool
    versions: Mapping[str, ServedVersion]
    storage_version: str
    hooks: Kind
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage: GroupResource = OWN_PLACE
    definition: str = ""
    webhook: ConversionWebhook | None = None
    terminating: bool = False
    digest: bytes = b""
    manager: Any = None
    answers: bool = False
    """Whether a definition serves what answers questions and stores nothing."""
    group_resource: GroupResource = field(init=False)
    group_kind: GroupKind = field(init=False)
    """As errors name the kind: events are those of the core group, whichever group they were sent
    to."""
    _kinds: dict[str, GroupVersionKind] = field(init=False, default_factory=dict)
    _resources: dict[str, GroupVersionResource] = field(init=False, default_factory=dict)

    encodings: ClassVar[tuple[str, ...]]
    """Media types that its objects are read and written in."""
    patch_types: ClassVar[tuple[str, ...]]
    has_routes: ClassVar[bool]
    """Whether kube-apiserver has routes for it, which refuse by themselves, in words of their own,
    what they do not take. Otherwise one handler behind all of them does."""
    has_go_type: ClassVar[bool]
    """Whether kube-apiserver decodes objects into a type of its own, which holds nothing that the
    schema does not know, and no object of another kind. Otherwise they are maps, of which
    validation says what is wrong with them."""
    versions_may_go: ClassVar[bool]
    """Whether objects may be stored in a version that is not there any more."""
    removed_as_stored: ClassVar[bool]
    """Whether watchers see a removed object as it is stored, rather than encoded anew."""

    checks_scale: ClassVar[bool]
    """Whether the replicas of a Scale are validated before they are put into the object."""
    applies_scale: ClassVar[bool]
    """Whether a Scale can be applied: kube-apiserver cannot convert what it merged for others."""

    def __post_init__(self) -> None:
        self.group_resource = GroupResource(self.group, self.resource)
        self.group_kind = GroupKind(self.storage.group, self.kind)

    def gvk(self, version: str) -> GroupVersionKind:
        gvk = self._kinds.get(version)
        if gvk is None:
            gvk = self._kinds[version] = GroupVersionKind(self.group, version, self.kind)
        return gvk

    def gvr(self, version: str) -> GroupVersionResource:
        gvr = self._resources.get(version)
        if gvr is None:
            gvr = self._resources[version] = GroupVersionResource(
                self.group, version, self.resource
            )
        return gvr

    def kind_at(self, version: str, subresource: str) -> GroupVersionKind | None:
        """The kind of objects of a served version, or of one of its subresources; None where there
        is no such thing."""
        served = self.versions[version]
        if not served.served:
            return None
        if not subresource:
            return self.gvk(version)
        sub = served.subresources.get(subresource)
        return sub.kind if sub is not None else None

    # --- objects ----------------------------------------------------------------------------------
    def decode(
        self, served: ServedVersion, value: Any, empties: list[Empty] | None = None
    ) -> tuple[Object, list[str]]:
        """A client's value as an object of the kind, defaulted, and its unknown fields. ``empties``
        is filled with what was there and is left out. Raises DecodeError."""
        raise NotImplementedError

    def decode_merged(
        self, served: ServedVersion, value: Any, empties: list[Empty] | None = None
    ) -> tuple[Object, list[str]]:
        """The same for what an apply made of the object and what was there."""
        return self.decode(served, value, empties)

    def settle(self, served: ServedVersion, obj: Object) -> None:
        """What storing would change about a decoded object, in place; runs once ownership of its
        fields is settled."""

    def kind_of(self, obj: ReadOnlyObject) -> GroupKind:
        """What an invalid object is called in errors."""
        return self.group_kind

    def ordered_metadata(self, metadata: Object) -> Object:
        """Members in the order in which kube-apiserver prints them."""
        raise NotImplementedError

    def loads(self, data: bytes) -> Object:
        """A stored object."""
        obj: Object = orjson.loads(data)
        return obj

    def dumps(self, obj: Object) -> bytes:
        """What `loads` reads."""
        return orjson.dumps(obj)

    # --- storage ----------------------------------------------------------------------------------
    @property
    def tells_storage_version(self) -> bool:
        """Whether discovery publishes a hash of the version that objects are stored in."""
        return True

    @property
    def etcd_prefix(self) -> str:
        """Below which kube-apiserver keeps the objects; some errors show it."""
        raise NotImplementedError

    def serves_as_stored(self, version: str) -> bool:
        """Whether stored bytes are what clients of the version are sent."""
        return False

    def decode_stored(self, obj: Object) -> None:
        """A stored object decoded in the version that it is stored in, in place. Raises
        ConversionFailed."""

    def check_stored_version(self, api_version: str) -> None:
        """Raises ConversionFailed where the kind does not have the version (any more)."""

    def fit(self, obj: Object, version: str) -> None:
        """A converted object fitted to the version's schema, in place. Raises ConversionFailed."""

    def reads_as_stored(self, data: bytes) -> bool:
        """Whether `decode_stored` changes nothing about the object with this JSON."""
        return True

    def asks_to_store(self, obj: ReadOnlyObject) -> bool:
        """Whether somebody else has to convert the object before it is stored."""
        return False

    def default_as_read(self, obj: Object) -> None:
        """In place, once the object has been encoded for storage: what reading it will fill in."""

    # --- selectors, field managers, scale ---------------------------------------------------------
    def selectable(self, version: str) -> tuple[str, ...]:
        """Names of the fields that this resource's field selectors know, beside metadata.name and
        metadata.namespace, in the order in which they are declared."""
        return tuple(self.hooks.fields({"metadata": {}}))

    def stored_field(self, version: str, name: str) -> str:
        """The name in the storage version of the field that a selector names. Raises BadRequest for
        one that the kind does not select by."""
        raise NotImplementedError

    def reset_fields(self) -> Filters:
        """What writes of the object and of its subresources cannot own."""
        raise NotImplementedError

    def no_such_version(self, api_version: str) -> Exception:
        """What a field manager is told of a version that is not there (any more)."""
        raise NotImplementedError

    def replicas_path(self, version: str) -> str:
        """Where objects of the version keep their replicas, "" without a scale subresource."""
        raise NotImplementedError


def names(resources: Iterable[Resource]) -> dict[str, list[str]]:
    """Those that are served in any version, by API group, each with its subresources behind it
    (``pods``, ``pods/log``): as rules of RBAC name them."""
    found: dict[str, list[str]] = {}
    for resource in resources:
        name, served = resource.resource, [v for v in resource.versions.values() if v.served]
        if served:
            subresources = {f"{name}/{sub}": None for v in served for sub in v.subresources}
            found.setdefault(resource.group, []).extend((name, *subresources))
    return found
