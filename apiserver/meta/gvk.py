"""GroupVersion, GroupVersionKind, GroupVersionResource, GroupResource: how the API names types and
collections."""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """From an object's ``apiVersion`` (``v1`` or ``apps/v1``). Raises ValueError with
        kube-apiserver's text."""
        if not api_version or api_version == "/":
            return cls("", "")
        group, slash, version = api_version.partition("/")
        if not slash:
            return cls("", group)
        if "/" not in version:
            return cls(group, version)
        raise ValueError(f"unexpected GroupVersion string: {api_version}")

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupResource(NamedTuple):
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersionKind(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.resource}"
