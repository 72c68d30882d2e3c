"""Scope: all that one operation on one resource needs to know, put together once by the endpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from apiserver.kinds.base import Object, Resource, ServedVersion, WriteContext
from apiserver.meta.gvk import GroupKind, GroupVersionKind
from apiserver.registry.typing import type_object
from apiserver.schema.types import Schema
from apiserver.storage.interface import ObjectKey
from apiserver.user import User


class Tenant(NamedTuple):
    id: int
    name: str


@dataclass(slots=True)
class Scope:
    """namespace, name: "" where the URL has none. warnings: texts for Warning headers, filled on the way. size: bytes of the largest text
    that the operation is about, for `apiserver.registry.offload`."""

    tenant: Tenant
    resource: Resource
    served: ServedVersion
    user: User
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    size: int = 0
    warnings: list[str] = field(default_factory=list)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def version(self) -> str:
        return self.served.version

    @property
    def gvk(self) -> GroupVersionKind:
        return self.resource.gvk(self.served.version)

    @property
    def schema(self) -> Schema:
        return self.served.schema

    def kind_of(self, obj: Object) -> GroupKind:
        """What an invalid object is called: a custom one may say that it is of another kind, which is then part of the error."""
        return GroupKind(self.resource.group, obj.get("kind") or "") if self.resource.custom else self.resource.group_kind

    def decode(self, value: Any) -> tuple[Object, list[str]]:
        """An object of the resource's kind decoded and defaulted; the second value lists unknown fields. Raises DecodeError."""
        return type_object(self.resource, self.served, value)

    def key(self, name: str = "") -> ObjectKey:
        storage = self.resource.storage
        return ObjectKey(storage.group, storage.resource, self.namespace, name or self.name)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def context(self, *, dry_run: bool = False, field_manager: str = "") -> WriteContext:
        return WriteContext(
            version=self.version,
            now=self.now,
            subresource=self.subresource,
            user=self.user.name,
            groups=self.user.groups,
            user_uid=self.user.uid,
            user_extra=self.user.extra,
            dry_run=dry_run,
            field_manager=field_manager,
            warn=self.warn,
        )
