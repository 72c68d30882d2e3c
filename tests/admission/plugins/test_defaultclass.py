"""Which class an ingress or a claim gets that names none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from admission.attributes import Attributes
from admission.plugins.defaultclass import (
    CLAIMS,
    INGRESSES,
    DefaultIngressClass,
    DefaultStorageClass,
)
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

INGRESS_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
STORAGE_DEFAULT = "storageclass.kubernetes.io/is-default-class"
PLUGINS: Any = pytest.mark.parametrize(
    ("plugin", "of", "annotation", "member"),
    [
        (DefaultIngressClass(), INGRESSES, INGRESS_DEFAULT, "ingressClassName"),
        (DefaultStorageClass(), CLAIMS, STORAGE_DEFAULT, "storageClassName"),
    ],
)


class Classes:
    def __init__(self, *classes: Object) -> None:
        self.classes = classes

    async def list(self, resource: GroupResource) -> Sequence[Object]:
        return self.classes


def marked(annotation: str, name: str, second: int, value: str = "true") -> Object:
    made = f"2026-01-01T00:00:{second:02d}Z"
    annotations = {annotation: value}
    return {"metadata": {"name": name, "creationTimestamp": made, "annotations": annotations}}


async def default(plugin: Any, of: GroupResource, *classes: Object) -> Object:
    obj: Object = {"metadata": {"name": "o"}, "spec": {}}
    kind = GroupVersionKind(of.group, "v1", "Any")
    resource = GroupVersionResource(of.group, "v1", of.resource)
    request = Attributes(1, "CREATE", kind, resource, "", "ns", "o", obj, None, User("u"))
    lookup: Any = Classes(*classes)
    await plugin.admit(request, lookup)
    spec: Object = obj["spec"]
    return spec


@PLUGINS
async def test_of_several_defaults_the_newest_counts(
    plugin: Any, of: GroupResource, annotation: str, member: str
) -> None:
    old, new = marked(annotation, "a", 1), marked(annotation, "b", 2)
    assert await default(plugin, of, old, new) == {member: "b"}
    assert await default(plugin, of, new, old) == {member: "b"}


@PLUGINS
async def test_of_one_second_the_first_name_counts(
    plugin: Any, of: GroupResource, annotation: str, member: str
) -> None:
    first, second = marked(annotation, "a", 1), marked(annotation, "b", 1)
    assert await default(plugin, of, second, first) == {member: "a"}


@PLUGINS
async def test_without_a_default_there_is_no_class(
    plugin: Any, of: GroupResource, annotation: str, member: str
) -> None:
    assert await default(plugin, of, marked(annotation, "a", 1, "false")) == {}
