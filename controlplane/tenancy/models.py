"""Tenants and bearer tokens. Written by service.py and tokens.py only; the request path reads both
through directory.py."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from apiserver.tenantnames import PATTERN

DNS_LABEL = RegexValidator(
    rf"\A{PATTERN}\Z",
    "A tenant's name is a DNS label: at most 63 lower-case letters, digits and '-', beginning and "
    "ending with a letter or digit.",
)


SMALLEST = {
    "max_objects": 220,
    "max_bytes": 256 * 1024,
    "max_log_bytes": 512 * 1024,
    "max_hour_bytes": 512 * 1024,
}
"""Limits below these would keep a tenant from ever answering: what it has from its first request on
(about 190 objects, 220 KB) counts."""


PLAIN_DEFAULT = "tenant default has no owners, does not expire and is not suspended"
"""What the Tenant object of the tenant of URLs without one says of itself, and commands as well."""


def _texts(help_text: str) -> Any:
    return ArrayField(
        models.CharField(max_length=320),
        default=list,
        blank=True,
        db_default=models.Value([], ArrayField(models.CharField(max_length=320))),
        help_text=help_text,
    )


class Tenant(models.Model):
    """One control plane. Its objects, events and sequence belong to apiserver.storage, keyed by
    ``id``. A quota that is null is the installation's default (service.DEFAULTS).

    object_uid: of the Tenant object that stands for it; declared: what row and object agreed on
    last (`controlplane.tenancy.declaration`); revision: counts what commands change;
    synced_revision: the one that the object knows of."""

    class State(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"
        DELETING = "deleting"

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=63, unique=True, validators=[DNS_LABEL], db_collation="C")
    display_name = models.CharField(max_length=200, blank=True, default="")
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    created_at = models.DateTimeField(auto_now_add=True)
    max_objects = models.PositiveBigIntegerField(null=True, blank=True, help_text="stored objects")
    max_bytes = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="bytes of stored objects"
    )
    max_log_bytes = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="bytes of retained events"
    )
    max_hour_bytes = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="bytes written within an hour"
    )
    max_definitions = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="CustomResourceDefinitions"
    )
    max_watches = models.PositiveIntegerField(null=True, blank=True, help_text="open watches")
    max_inflight = models.PositiveIntegerField(
        null=True, blank=True, help_text="requests at a time"
    )
    retention_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text="how long superseded events are kept"
    )
    controllers_off = ArrayField(
        models.CharField(max_length=63),
        default=list,
        blank=True,
        db_default=models.Value([], ArrayField(models.CharField(max_length=63))),
        help_text="controllers that are left to somebody else",
    )

    labels = models.JSONField(default=dict, blank=True, db_default={})
    owners = _texts("who is bound to cluster-admin, as Kind:name")
    bound_owners = _texts("those whose binding is there")
    templates = _texts("what it is made from")
    applied_templates = _texts("those of which all is there")
    expires_at = models.DateTimeField(null=True, blank=True)
    deletion_protection = models.BooleanField(default=False, db_default=False)
    object_uid = models.CharField(max_length=64, blank=True, default="", db_default="")
    declared = models.JSONField(null=True, blank=True)
    revision = models.BigIntegerField(default=1, db_default=1)
    synced_revision = models.BigIntegerField(default=0, db_default=0)

    QUOTAS: ClassVar = (
        "max_objects",
        "max_bytes",
        "max_log_bytes",
        "max_hour_bytes",
        "max_definitions",
        "max_watches",
        "max_inflight",
    )

    objects: ClassVar[models.Manager[Tenant]]

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(name__regex=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
                name="tenant_name_dns_label",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["active", "suspended", "deleting"]),
                name="tenant_state_known",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["name"],
                condition=~models.Q(synced_revision=models.F("revision")),
                name="tenant_unsynced",
            ),
            GinIndex(fields=["owners"], name="tenant_owners"),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(expires_at__isnull=False),
                name="tenant_expiry",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError for limits that would not even hold what every tenant has."""
        errors = {
            field: (
                f"Ensure this value is at least {least}: every tenant has system "
                f"namespaces, roles and flow schemas, which count."
            )
            for field, least in SMALLEST.items()
            if (value := getattr(self, field)) is not None and value < least
        }
        if errors:
            raise ValidationError(errors)


class Departed(models.Model):
    """The Tenant object of a tenant that a command has deleted: it goes as well, and makes no new
    tenant."""

    object_uid = models.CharField(max_length=64, primary_key=True)
    name = models.CharField(max_length=63)

    objects: ClassVar[models.Manager[Departed]]

    def __str__(self) -> str:
        return self.name


class ApiToken(models.Model):
    """A bearer token: SHA-256 of the secret and who it stands for. tenant null: valid in every
    tenant."""

    id = models.BigAutoField(primary_key=True)
    hash = models.BinaryField(max_length=32, unique=True, editable=False)
    description = models.CharField(max_length=200, blank=True, default="")
    user = models.CharField(max_length=253)
    uid = models.CharField(max_length=253, blank=True, default="")
    groups = ArrayField(models.CharField(max_length=253), default=list, blank=True)
    tenant = models.ForeignKey(
        Tenant, null=True, blank=True, on_delete=models.CASCADE, related_name="tokens"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True, help_text="to the hour")

    objects: ClassVar[models.Manager[ApiToken]]

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.user} #{self.pk}"


class KeyGeneration(models.Model):
    """A generation of the keys that sign tokens of service accounts
    (apiserver.authn.accountkeys)."""

    number = models.AutoField(primary_key=True)
    algorithm = models.CharField(max_length=8)
    salt = models.BinaryField(max_length=32, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    signs_from = models.DateTimeField()
    lasts = models.BigIntegerField(help_text="no token of it ends later; seconds since 1970")
    retired_at = models.DateTimeField(null=True)

    objects: ClassVar[models.Manager[KeyGeneration]]

    class Meta:
        ordering: ClassVar = ["number"]


class Authentication(models.Model):
    """Whose tokens a tenant accepts beside its own and the installation's: an
    AuthenticationConfiguration, as it was given (controlplane.tenancy.authentication)."""

    tenant = models.OneToOneField(
        Tenant, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    document = models.TextField()

    objects: ClassVar[models.Manager[Authentication]]


class AccountKey(models.Model):
    """A key of one tenant, of a generation whose keys cannot be derived, sealed."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    generation = models.ForeignKey(KeyGeneration, on_delete=models.CASCADE, related_name="+")
    sealed = models.BinaryField(editable=False)

    objects: ClassVar[models.Manager[AccountKey]]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "generation"], name="one_key_a_generation")
        ]
