"""Kind: what is particular to one kind. Every hook has a default that suits most kinds; a kind's
own file overrides what differs.

Objects are JSON dictionaries in one version of the kind, decoded, pruned and defaulted from their
schema before any hook sees them. Hooks are pure: no I/O, no clock but ``context.now``. What needs
other objects (allocation of IPs, quota) is admission or registry. The order for create: default →
prepare_create → (admission) → validate → warnings. For update: default → prepare_update →
(admission) → validate → validate_update → warnings. Source of the order: k8s.io/apiserver
``registry/rest`` BeforeCreate and BeforeUpdate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.declarative.declared import Declared
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.values import value
from apiserver.schema.decode_errors import Empty
from apiserver.schema.empties import any_of_spec

STATUS_KEEPS_METADATA = (
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "deletionTimestamp",
)
"""What metav1.ResetObjectMetaForStatus takes from the stored object, beside what no update of any
kind can change."""


def keep_metadata(metadata: Object, old: Object, names: Iterable[str]) -> None:
    """Has those members as the stored object has them."""
    for name in names:
        metadata.pop(name, None)
        if name in old:
            metadata[name] = old[name]


@value(frozen=True, slots=True)
class WriteContext:
    """What a hook may know of the request: the version the object is in, UTC now, the subresource
    ("" for the object itself), the user's name, groups, uid and extra, and whether anything will be
    stored. empties: what decoding left out of the object. warn: takes texts for Warning headers,
    for what validation lets pass; they are sent even
    if the request fails."""

    version: str
    now: datetime
    subresource: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    user_uid: str = ""
    user_extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dry_run: bool = False
    field_manager: str = ""
    empties: Sequence[Empty] = ()
    warn: Callable[[str], None] = field(default=lambda text: None, compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Table: name, OpenAPI type and format, description, and priority (0 shows
    without ``-o wide``)."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Kind:
    """Defaults, strategy, validation and columns of one kind; one instance serves all its versions.

    allow_unconditional_update: PUT without resourceVersion overwrites; otherwise it is an error.
    allow_create_on_update: PUT of an absent object creates it. generation: whether
    metadata.generation counts changes (of anything but metadata and status); deep_generation: a
    list or map that was sent empty is such a change (``reflect.DeepEqual``). status: whether
    "status" is kept apart: dropped on create, ignored on update, writable through /status.
    status_keeps: members of metadata that writes of /status leave as they are; kinds older than
    that rule have none (pkg/registry strategy.go, PrepareForUpdate of each status strategy).
    name_rule: checks metadata.name (see apiserver.meta.names); None uses DNS subdomains.
    zero_status: version → the status that Go writes for an object that has none yet; the catalog
    fills it in. returns_deleted: DELETE answers with the object instead of a Status.
    metadata_create, metadata_update, metadata_again: what the kind's own validation asks of
    metadata beside the checks that every kind goes through, for clients see each finding as often
    as it is made: on create all rules; on update of the object or its status what may change
    (ValidateObjectMetaUpdate); on update of the object all rules, as often as metadata_again
    says. metadata_of_parts: the same two for writes of /status and the like, where they are not
    metadata_update and 0. standard_finalizers: whenever it asks, finalizers without a domain must
    be Kubernetes' own.
    dependents: what a deletion without a policy does with dependents: "delete" (in the background),
    "orphan" (jobs and replication controllers, as ever), or "none" where the garbage collector's
    finalizers are never set (events). graceful: what is marked waits for its grace period to end;
    elsewhere none counts. two_phases: the first DELETE is the kind's own doing
    (begin_deletion), with other words for preconditions that do not hold; collected_at_once: and
    sets the garbage collector's finalizers. orphan_warning: what a deletion that orphans for want
    of a policy is warned of. row_order: the key by which a list's Table is sorted; None leaves the
    order of the list. declared: rules that stand as data beside the kind, checked with what
    validate() and its siblings find (see docs/kinds.md).
    """

    group: str = ""
    kind: str = ""
    allow_unconditional_update = True
    allow_create_on_update = False
    generation = True
    deep_generation = False
    status = False
    status_keeps: tuple[str, ...] = ()
    returns_deleted = False
    metadata_create = True
    metadata_update = True
    metadata_again: int = True
    metadata_of_parts: tuple[bool, int] | None = None
    standard_finalizers = True
    dependents = "delete"
    orphan_warning = ""
    graceful = False
    two_phases = False
    collected_at_once = False
    name_rule: Callable[[str, bool], list[str]] | None = None
    declared: Declared | None = None
    row_order: Callable[[Object], Any] | None = None
    unprinted: frozenset[str] = frozenset()
    """Subresources that are the object itself and still no Table: their storage makes none."""
    raw_fields: tuple[str, ...] = ()
    """Paths of the fields that are RawExtensions in Go (`apiserver.meta.raw`), the same in all
    versions."""
    takes_of_old = False
    """Whether prepare_update may put parts of the stored object into the new one: it is then handed
    a copy. Taken to be so of every kind with a prepare_update of its own that does not say
    otherwise."""

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        if "prepare_update" in own and "takes_of_old" not in own:
            cls.takes_of_old = True

    def __init__(self) -> None:
        self.zero_status: dict[str, Object] = {}

    # --- defaults and strategy --------------------------------------------------------------------
    def default(self, obj: Object, version: str) -> None:
        """Defaults that the schema cannot express; in place. Also runs on objects read from
        storage."""

    def copy(self, obj: Object) -> Object:
        """A copy of a new object for one more attempt to store it. Defaults of some kinds let parts
        of it be the same, and so they stay."""
        return copy_json(obj)

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        """Clears and sets fields before create; the base empties status and sets generation."""
        if self.status:
            obj["status"] = copy_json(self.zero_status.get(context.version, {}))
        if self.generation:
            obj["metadata"]["generation"] = 1

    def forget_uid(self, obj: Object) -> None:
        """Removes what was made of its uid from an object that was deleted and is to be created
        anew, with another."""

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """Keeps what a client may not change through the object itself; the base keeps status and
        counts generation."""
        if self.status:
            if "status" in old:
                obj["status"] = copy_json(old["status"])
            else:
                obj.pop("status", None)
        if self.generation:
            self.count_generation(obj, old)
            if self.deep_generation and any_of_spec(obj, context.empties):
                obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """For /status: everything but status and metadata stays as it was, and of metadata what
        ``status_keeps`` names."""
        metadata, status = obj["metadata"], obj.get("status")
        keep_metadata(metadata, old["metadata"], self.status_keeps)
        kept = {k: v for k, v in old.items() if k not in ("metadata", "status")}
        obj.clear()
        obj.update(kept)
        obj["metadata"] = metadata
        if status is not None:
            obj["status"] = status

    def prepare_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> None:
        """For other subresources that take the whole object (ephemeralcontainers, resize, approval,
        finalize)."""
        raise NotImplementedError(f"{self.kind}/{subresource}")

    def count_generation(self, obj: Object, old: Object) -> None:
        def desired(o: Object) -> Object:
            return {
                k: v for k, v in o.items() if k not in ("metadata", "status", "apiVersion", "kind")
            }

        generation = old["metadata"].get("generation", 0)
        obj["metadata"]["generation"] = generation + (desired(obj) != desired(old))
        if not obj["metadata"]["generation"]:
            del obj["metadata"]["generation"]

    def completed_by_update(self, obj: Object) -> bool:
        """Whether kube-apiserver stored the object, when it was new, without a part that reading
        fills in, so that the first update stores that, whatever else it changes."""
        return False

    def compared(self, obj: Object) -> Object:
        """The object as an update compares it with another to find out who owns what."""
        return obj

    def canonicalize(self, obj: Object) -> None:
        """Last change before an object is stored, after validation (sorting, trimming)."""

    # --- validation -------------------------------------------------------------------------------
    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        """All but metadata (apiserver.registry checks that for every kind)."""
        return []

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        """What is asked of new objects alone; runs beside validate()."""
        return []

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """What only a comparison with the stored object shows; runs beside validate()."""
        return []

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return []

    def validate_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return []

    def validate_delete(self, obj: Object, context: WriteContext) -> FieldErrors:
        return []

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """Texts for Warning headers."""
        return []

    # --- reading ----------------------------------------------------------------------------------
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        """One Table row, as many cells as the resource's columns. The default suits kinds with Name
        and Age (or Created At)."""
        metadata = obj.get("metadata", {})
        return [metadata.get("name", ""), metadata.get("creationTimestamp")]

    def unconverted(self, obj: Object) -> Object:
        """The object whose metadata a Table or PartialObjectMetadata shows: without what only
        conversion into the version writes, for both are made before that. In most kinds the object
        itself."""
        return obj

    def row_conditions(self, obj: Object) -> list[Object]:
        """Conditions of a Table row: kubectl shows rows that are Completed in another way."""
        return []

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Selectable fields beside metadata.name and metadata.namespace, by their names in field
        selectors, as strings.

        The same names must come for every object, with "" for what is not set."""
        return {}

    def unknown_field(self, version: str, name: str) -> str:
        """What is said to a field selector that names a field which the kind does not know."""
        return f"field label not supported: {name}"

    def field_alias(self, version: str, name: str) -> str:
        """A field selector's name in the storage version; "" when that version does not know it."""
        return name

    # --- versions ---------------------------------------------------------------------------------
    def convert(self, obj: Object, to: str) -> Object:
        """A copy in version ``to``; must round-trip without loss. The base only changes apiVersion.
        Where two groups share a storage (events), each takes the other's form."""
        gv = f"{self.group}/{to}" if self.group else to
        return {**obj, "apiVersion": gv}

    # --- scale ------------------------------------------------------------------------------------
    def scale_of(self, obj: Object) -> Object:
        """The autoscaling/v1 Scale of an object, for kinds with a scale subresource."""
        raise NotImplementedError(f"{self.kind}/scale")

    def scale_for_update(self, obj: Object) -> Object:
        """What a patch of the scale starts from; differs only for objects that have no replicas
        yet."""
        return self.scale_of(obj)

    def scale_written(self, obj: Object) -> Object:
        """What a write of the scale is answered with; differs only for objects of which the
        storage version has no room for replicas."""
        return self.scale_of(obj)

    def set_scale(self, obj: Object, replicas: int) -> None:
        """Writes spec.replicas of a Scale into the object; in place."""
        raise NotImplementedError(f"{self.kind}/scale")

    # --- deletion ---------------------------------------------------------------------------------
    def begin_deletion(self, obj: Object, now: datetime) -> bool:
        """Marks the object as deleted in the kind's own way, in place; False leaves that to the
        common rules."""
        return False

    def grace_period(self, obj: Object, requested: int | None) -> int | None:
        """Seconds of graceful deletion, or None where it is deleted at once."""
        return None
