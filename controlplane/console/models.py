"""Storage's tables as the console lists them.

Django's admin cannot register models with a composite key, so these unmanaged twins of
`apiserver.storage.models` name one column as key for form's sake; the admin finds rows by the real
key (see storedobjects.py). They are never written.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.db import models

from apiserver.storage.models import AuditEntry
from controlplane.console.sessionstore import AccountSession

__all__ = [
    "AccountSession",
    "LoginAttempt",
    "OidcIdentity",
    "SavedView",
    "StoredEvent",
    "StoredObject",
]


class StoredObject(models.Model):
    """One object's current state."""

    tenant_id = models.BigIntegerField("tenant")
    api_group = models.TextField("group")
    resource = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    uid = models.UUIDField(primary_key=True)
    resource_version = models.BigIntegerField("version")
    data = models.JSONField()
    finalizers = ArrayField(models.TextField())
    deleting = models.BooleanField()
    created_at = models.DateTimeField("created")
    size = models.IntegerField("bytes")

    gone: datetime | None = None
    """When it was deleted, of one that is there no more (`StoredObjectAdmin.get_object`)."""

    objects: ClassVar[models.Manager[StoredObject]]

    class Meta:
        managed = False
        db_table = "objects"
        verbose_name = "stored object"
        ordering: ClassVar = ["tenant_id", "api_group", "resource", "namespace", "name"]
        unique_together: ClassVar = [("tenant_id", "api_group", "resource", "namespace", "name")]

    def __str__(self) -> str:
        return (
            f"{self.resource}{'.' + self.api_group if self.api_group else ''} "
            f"{self.namespace + '/' if self.namespace else ''}{self.name}"
        )


class StoredEvent(models.Model):
    """One entry of a tenant's log."""

    tenant_id = models.BigIntegerField("tenant")
    resource_version = models.BigIntegerField("version", primary_key=True)
    api_group = models.TextField("group")
    resource = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    type = models.CharField(
        max_length=1, choices=[("A", "ADDED"), ("M", "MODIFIED"), ("D", "DELETED")]
    )
    at = models.DateTimeField()

    entry: AuditEntry | None = None
    entry_url: str = ""
    """Who made it, and the page that says so, where a page has looked that up."""

    objects: ClassVar[models.Manager[StoredEvent]]

    class Meta:
        managed = False
        db_table = "events"
        verbose_name, verbose_name_plural = "change", "change log"
        ordering: ClassVar = ["-tenant_id", "-resource_version"]
        unique_together: ClassVar = [("tenant_id", "resource_version")]

    def __str__(self) -> str:
        return f"{self.resource_version} {self.get_type_display()} {self.name}"


class LoginAttempt(models.Model):
    """Logins of an account (``account:NAME``) or from an address (``address:ADDRESS``) since the
    last one that was right (attempts.py)."""

    key = models.CharField(max_length=200, primary_key=True)
    failures = models.PositiveIntegerField()
    last = models.DateTimeField(db_index=True)
    until = models.DateTimeField(help_text="no login is looked at before")

    objects: ClassVar[models.Manager[LoginAttempt]]

    def __str__(self) -> str:
        return f"{self.key}: {self.failures}"


class OidcIdentity(models.Model):
    """Whose an account is, at an OpenID provider (oidcaccounts.py)."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True)
    issuer = models.TextField()
    subject = models.TextField()

    objects: ClassVar[models.Manager[OidcIdentity]]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_each")
        ]

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}"


class SavedView(models.Model):
    """A list's filters and order that an account has saved (facts/viewpages.py)."""

    LONGEST_NAME: ClassVar = 253

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(User, on_delete=models.CASCADE, db_index=False)
    tenant = models.CharField(max_length=LONGEST_NAME)
    kind = models.CharField(max_length=LONGEST_NAME)
    title = models.TextField()
    query = models.TextField()

    objects: ClassVar[models.Manager[SavedView]]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["account", "tenant", "kind", "title"], name="one_view_of_a_title"
            )
        ]

    def __str__(self) -> str:
        return f"{self.title} of {self.kind} in {self.tenant}"
