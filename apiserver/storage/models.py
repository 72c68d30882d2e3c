"""The tables, for migrations, the console and SQL users. Only `pp_commit`, tenants.py and
compact.py write them; the request path reads them through reader.py with SQL of its own. Every key
begins with the tenant, so that tables can be distributed by it.

An object's text is stored once, in its event: jsonb (``objects.data``) does not keep the order of
members, so readers take the text from ``events`` by the object's resourceVersion. Compaction never
removes an object's newest event.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models


class JsonTextField(models.JSONField):
    """PostgreSQL's ``json``: unlike jsonb it keeps the text as it was written."""

    def db_type(self, connection: Any) -> str:
        return "json"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return (
            super().from_db_value(value, expression, connection)
            if isinstance(value, str)
            else value
        )


class ObjectRow(models.Model):
    """The current state of one object. size: bytes of its JSON text; deleting:
    metadata.deletionTimestamp is set; claims: ``<tenant>/<value>``, which no other object of the
    tenant holds."""

    pk = models.CompositePrimaryKey("tenant_id", "api_group", "resource", "namespace", "name")
    tenant_id = models.BigIntegerField()
    api_group = models.TextField(db_collation="C")
    resource = models.TextField(db_collation="C")
    namespace = models.TextField(db_collation="C")
    name = models.TextField(db_collation="C")
    uid = models.UUIDField()
    resource_version = models.BigIntegerField()
    data = models.JSONField()
    owner_uids = ArrayField(models.TextField(), default=list)
    finalizers = ArrayField(models.TextField(), default=list)
    deleting = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    size = models.IntegerField()
    claims = ArrayField(
        models.TextField(),
        default=list,
        db_default=models.Value([], ArrayField(models.TextField())),
    )

    objects: ClassVar[models.Manager[ObjectRow]]

    class Meta:
        db_table = "objects"
        ordering: ClassVar = ["tenant_id", "api_group", "resource", "namespace", "name"]
        indexes: ClassVar = [
            # most objects have no owner: they cost this index nothing
            GinIndex(
                fields=["owner_uids"], name="objects_owner_uids", condition=~models.Q(owner_uids=[])
            ),
            GinIndex(fields=["claims"], name="objects_claims", condition=~models.Q(claims=[])),
            # uid first: an index that begins with the tenant is taken for the primary key's by a
            # planner without statistics
            models.Index(fields=["uid", "tenant_id"], name="objects_by_uid"),
            models.Index(
                fields=["tenant_id", "uid"],
                name="objects_being_deleted",
                condition=models.Q(deleting=True),
            ),
            models.Index(
                fields=["tenant_id", "api_group", "resource", "namespace", "name"],
                name="objects_with_finalizers",
                condition=~models.Q(finalizers=[]),
            ),
        ]

    def __str__(self) -> str:
        return "/".join(p for p in (self.api_group, self.resource, self.namespace, self.name) if p)


class BoundSubject(models.Model):
    """Whom a RoleBinding or ClusterRoleBinding names. uid: the binding's; subject: Kind:name, see
    pp_subjects. Triggers on `ObjectRow` keep it (sql/bound.sql)."""

    pk = models.CompositePrimaryKey("tenant_id", "uid", "subject")
    tenant_id = models.BigIntegerField()
    uid = models.UUIDField()
    subject = models.TextField(db_collation="C")

    objects: ClassVar[models.Manager[BoundSubject]]

    class Meta:
        db_table = "bound_subjects"
        ordering: ClassVar = ["tenant_id", "uid", "subject"]
        indexes: ClassVar = [
            # across tenants: in which of them somebody is bound
            models.Index(fields=["subject", "tenant_id"], name="bound_subjects_tenants"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} by {self.uid}"


class EventRow(models.Model):
    """One entry of a tenant's log. previous: the tenant's resourceVersion before it; key_previous:
    that of the same object's event before it, 0 for an object that was not there; data: the object
    after the change, or its last state; size: its bytes."""

    class Type(models.TextChoices):
        ADDED = "A", "ADDED"
        MODIFIED = "M", "MODIFIED"
        DELETED = "D", "DELETED"

    pk = models.CompositePrimaryKey("tenant_id", "resource_version")
    tenant_id = models.BigIntegerField()
    resource_version = models.BigIntegerField()
    previous = models.BigIntegerField()
    api_group = models.TextField(db_collation="C")
    resource = models.TextField(db_collation="C")
    namespace = models.TextField(db_collation="C")
    name = models.TextField(db_collation="C")
    uid = models.UUIDField()
    type = models.CharField(max_length=1, choices=Type.choices)
    data = JsonTextField()
    key_previous = models.BigIntegerField()
    at = models.DateTimeField()
    size = models.IntegerField(default=0, db_default=0)

    objects: ClassVar[models.Manager[EventRow]]

    class Meta:
        db_table = "events"
        ordering: ClassVar = ["tenant_id", "resource_version"]
        indexes: ClassVar = [
            models.Index(
                "tenant_id",
                "api_group",
                "resource",
                "namespace",
                "name",
                models.F("resource_version").desc(),
                name="events_by_key",
            ),
            # for expiry.py: the writes of Events alone, in the order of time
            models.Index(
                fields=["tenant_id", "resource_version"],
                name="events_of_events",
                condition=models.Q(api_group="", resource="events") & ~models.Q(type="D"),
            ),
        ]

    def __str__(self) -> str:
        return (
            f"{self.resource_version} {self.get_type_display()} {self.resource} "
            f"{self.namespace}/{self.name}"
        )


class AuditEntry(models.Model):
    """Who did what: the entry of one object version, or of a request that made none (sql/
    audit_tables.sql). data: the audit.k8s.io/v1 Event, without the resourceVersion; tenant_id: None
    for what got to no tenant. The table has no primary key, and nobody looks for a row by its
    id alone without need."""

    id = models.UUIDField(primary_key=True)
    tenant_id = models.BigIntegerField("tenant", null=True)
    at = models.DateTimeField()
    resource_version = models.BigIntegerField("version")
    user_name = models.TextField("user")
    verb = models.TextField()
    code = models.IntegerField()
    api_group = models.TextField("group")
    resource = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    data = JsonTextField()

    objects: ClassVar[models.Manager[AuditEntry]]

    class Meta:
        managed = False
        db_table = "audit_entries"
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"
        ordering: ClassVar = ["-at", "-resource_version"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.user_name} {self.verb} {self.target}"

    @property
    def target(self) -> str:
        """What it was done to: ``resource.group/namespace/name``, or the path."""
        if not self.resource:
            return str(self.data.get("requestURI", ""))
        kind = f"{self.resource}.{self.api_group}" if self.api_group else self.resource
        return "/".join(part for part in (kind, self.namespace, self.name) if part)

    @property
    def acting(self) -> str:
        """Whom the user acted as, "" for nobody else."""
        return str((self.data.get("impersonatedUser") or {}).get("username", ""))

    @property
    def event(self) -> dict[str, Any]:
        """The whole Event, with the version that it made."""
        if not self.resource_version:
            return dict(self.data)
        reference = {**self.data.get("objectRef", {})}
        return {
            **self.data,
            "objectRef": {**reference, "resourceVersion": str(self.resource_version)},
        }


class TenantHead(models.Model):
    """What is true of a tenant as a whole. head: last committed resourceVersion; floor: the oldest
    version whose state can be read; compacted: up to where superseded events are removed;
    object_count and bytes: exact, of current objects; log_bytes: of all events; hour_bytes: written
    in the hour since 1970 that ``hour`` numbers; a limit or retention that is null does not bind,
    or is the default."""

    tenant_id = models.BigIntegerField(primary_key=True)
    head = models.BigIntegerField()
    floor = models.BigIntegerField()
    compacted = models.BigIntegerField()
    object_count = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    max_objects = models.BigIntegerField(null=True, blank=True)
    max_bytes = models.BigIntegerField(null=True, blank=True)
    log_bytes = models.BigIntegerField(default=0, db_default=0)
    hour = models.BigIntegerField(default=0, db_default=0)
    hour_bytes = models.BigIntegerField(default=0, db_default=0)
    max_log_bytes = models.BigIntegerField(null=True, blank=True)
    max_hour_bytes = models.BigIntegerField(null=True, blank=True)
    max_definitions = models.BigIntegerField(null=True, blank=True)
    retention = models.DurationField(null=True, blank=True)

    objects: ClassVar[models.Manager[TenantHead]]

    class Meta:
        db_table = "tenant_heads"

    def __str__(self) -> str:
        return f"tenant {self.tenant_id} at {self.head}"

    @property
    def written_this_hour(self) -> int:
        """Bytes; what an earlier hour has left behind counts no more."""
        return self.hour_bytes if self.hour == int(time.time()) // 3600 else 0


class SearchEntry(models.Model):
    """The words of one object (apiserver/search/words.py). terms: each word with the tenant's
    number and its area before it, and where the object is; ends: when the first certificate in a
    Secret for TLS does, None for all else."""

    pk = models.CompositePrimaryKey("tenant_id", "api_group", "resource", "namespace", "name")
    tenant_id = models.BigIntegerField()
    api_group = models.TextField(db_collation="C")
    resource = models.TextField(db_collation="C")
    namespace = models.TextField(db_collation="C")
    name = models.TextField(db_collation="C")
    terms = SearchVectorField()
    ends = models.DateTimeField(null=True)

    objects: ClassVar[models.Manager[SearchEntry]]

    class Meta:
        db_table = "search_entries"
        ordering: ClassVar = ["tenant_id", "api_group", "resource", "namespace", "name"]
        indexes: ClassVar = [
            GinIndex(fields=["terms"], name="search_entries_terms"),
            # across tenants: what ends soon
            models.Index(
                fields=["ends", "tenant_id"],
                name="search_entries_ending",
                condition=models.Q(ends__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return "/".join(p for p in (self.api_group, self.resource, self.namespace, self.name) if p)


class SearchHead(models.Model):
    """indexed: the version of the tenant's log up to which its search index is true."""

    tenant_id = models.BigIntegerField(primary_key=True)
    indexed = models.BigIntegerField()

    objects: ClassVar[models.Manager[SearchHead]]

    class Meta:
        db_table = "search_heads"

    def __str__(self) -> str:
        return f"tenant {self.tenant_id} up to {self.indexed}"


class FieldIndex(models.Model):
    """A field of a resource by which a tenant selects. path: as a field selector names it;
    declared: the tenant's version when it was; indexed: the version up to which its entries are
    true."""

    tenant_id = models.BigIntegerField()
    api_group = models.TextField(db_collation="C")
    resource = models.TextField(db_collation="C")
    path = models.TextField(db_collation="C")
    declared = models.BigIntegerField()
    indexed = models.BigIntegerField()

    objects: ClassVar[models.Manager[FieldIndex]]

    class Meta:
        db_table = "field_indexes"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant_id", "api_group", "resource", "path"], name="field_indexes_path"
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} of {self.resource} of tenant {self.tenant_id} up to {self.indexed}"


class FieldEntry(models.Model):
    """What an object has at an indexed field. place: its namespace and "/", which with the name is
    the order of keys; value: as selectors compare it, of long ones a hash
    (apiserver/search/fieldvalues.py)."""

    pk = models.CompositePrimaryKey("tenant_id", "index_id", "place", "name")
    tenant_id = models.BigIntegerField()
    index_id = models.BigIntegerField()
    place = models.TextField(db_collation="C")
    name = models.TextField(db_collation="C")
    value = models.TextField(db_collation="C")

    objects: ClassVar[models.Manager[FieldEntry]]

    class Meta:
        db_table = "field_entries"
        ordering: ClassVar = ["tenant_id", "index_id", "place", "name"]
        indexes: ClassVar = [
            models.Index(
                fields=["tenant_id", "index_id", "value", "place", "name"],
                name="field_entries_value",
            )
        ]

    def __str__(self) -> str:
        return f"{self.place}{self.name}: {self.value}"


class Tally(models.Model):
    """How many objects there are of a resource in a namespace; in the row without a namespace, in
    all of the tenant (sql/tally.sql)."""

    pk = models.CompositePrimaryKey("tenant_id", "namespace", "api_group", "resource")
    tenant_id = models.BigIntegerField()
    namespace = models.TextField(db_collation="C")
    api_group = models.TextField(db_collation="C")
    resource = models.TextField(db_collation="C")
    number = models.BigIntegerField()

    objects: ClassVar[models.Manager[Tally]]

    class Meta:
        db_table = "tallies"
        ordering: ClassVar = ["tenant_id", "namespace", "api_group", "resource"]

    def __str__(self) -> str:
        return f"{self.number} {self.resource} in {self.namespace or 'all'}"


class TallyHead(models.Model):
    """through: the version of the tenant's log up to which its tallies are true; 0: there are
    none."""

    tenant_id = models.BigIntegerField(primary_key=True)
    through = models.BigIntegerField()

    objects: ClassVar[models.Manager[TallyHead]]

    class Meta:
        db_table = "tally_heads"

    def __str__(self) -> str:
        return f"tenant {self.tenant_id} up to {self.through}"


class Lease(models.Model):
    """Who does a duty of the whole installation at the moment; a row and not an advisory lock,
    because those belong to a session."""

    name = models.TextField(primary_key=True)
    holder = models.TextField()
    expires_at = models.DateTimeField()

    objects: ClassVar[models.Manager[Lease]]

    class Meta:
        db_table = "leases"

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"
