"""The small plugins that operators switch on, and the resize of claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from admission.attributes import Attributes, Lookup, Served
from admission.chain import Plugin
from admission.plugins import podnodeselector
from admission.plugins.alwaysadmit import AlwaysAdmit, AlwaysDeny
from admission.plugins.alwayspullimages import AlwaysPullImages
from admission.plugins.antiaffinity import LimitPodHardAntiAffinityTopology
from admission.plugins.claimresize import CLAIMS, PersistentVolumeClaimResize
from admission.plugins.extendedresourcetoleration import ExtendedResourceToleration
from admission.plugins.externalips import SERVICES, DenyServiceExternalIPs
from admission.plugins.namespaceexists import NamespaceExists
from admission.plugins.ownerreferences import OwnerReferencesPermissionEnforcement
from admission.plugins.podnodeselector import ANNOTATION, PodNodeSelector
from apiserver.authz import attributes as authz
from apiserver.errors import ApiError, Forbidden, NotFound
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

PODS = GroupResource("", "pods")


class World:
    """Objects by resource and name; one kind, Owner of group g."""

    def __init__(self, **objects: Object) -> None:
        self.objects = objects

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        return self.objects.get(name)

    def kind(self, kind: GroupVersionKind) -> Served | None:
        if kind != ("g", "v1", "Owner"):
            return None
        return Served(
            GroupVersionResource("g", "v1", "owners"), kind, GroupResource("g", "o"), True
        )


def asked(resource: GroupResource, obj: Object, old: Object | None = None) -> Attributes:
    return Attributes(
        1,
        "CREATE" if old is None else "UPDATE",
        GroupVersionKind(resource.group, "v1", "K"),
        GroupVersionResource(resource.group, "v1", resource.resource),
        "",
        "ns",
        "x",
        obj,
        old,
        User("u"),
    )


async def run(plugin: Any, request: Attributes, world: World | None = None) -> Object:
    assert plugin.handles(request)
    lookup = cast(Lookup, world or World(ns={"metadata": {}}))
    for phase in ("admit", "validate"):
        if hasattr(plugin, phase):
            await getattr(plugin, phase)(request, lookup)
    assert request.object is not None
    return request.object


async def refusal(plugin: Any, request: Attributes, world: World | None = None) -> str:
    with pytest.raises(Forbidden) as refused:
        await run(plugin, request, world)
    return refused.value.message.partition(": ")[2]


def pod(**spec: Any) -> Object:
    return {
        "metadata": {"name": "x"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


async def test_always() -> None:
    plugin: Plugin = AlwaysAdmit()
    assert not plugin.handles(asked(PODS, pod()))
    why = await refusal(AlwaysDeny(), asked(PODS, pod()))
    assert why == "admission control is denying all modifications"


async def test_images_are_always_pulled() -> None:
    volumes = [{"name": "v", "image": {"reference": "r"}}, {"name": "w"}]
    made = await run(AlwaysPullImages(), asked(PODS, pod(volumes=volumes)))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert made["spec"]["volumes"][0]["image"]["pullPolicy"] == "Always"


async def test_without_a_new_image_nothing_is_pulled() -> None:
    made = await run(AlwaysPullImages(), asked(PODS, pod(), pod()))
    assert "imagePullPolicy" not in made["spec"]["containers"][0]


async def test_a_changed_pull_policy_is_refused() -> None:
    with pytest.raises(Forbidden) as refused:
        await AlwaysPullImages().validate(asked(PODS, pod()), cast(Lookup, World()))
    assert refused.value.message == (
        'pods "x" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "": '
        'supported values: "Always"'
    )


async def test_pods_keep_apart_by_node() -> None:
    term = {"topologyKey": "zone"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    request = asked(PODS, pod(affinity={"podAntiAffinity": required}))
    assert await refusal(LimitPodHardAntiAffinityTopology(), request) == (
        "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key "
        "kubernetes.io/hostname is allowed"
    )
    term["topologyKey"] = "kubernetes.io/hostname"
    await run(LimitPodHardAntiAffinityTopology(), request)


async def test_devices_are_tolerated() -> None:
    request = asked(PODS, pod())
    assert request.object is not None
    container = request.object["spec"]["containers"][0]
    container["resources"] = {"requests": {"b.io/x": "1", "a.io/x": "1", "cpu": "1"}}
    known = {"key": "b.io/x", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1}
    request.object["spec"]["tolerations"] = [known]
    made = await run(ExtendedResourceToleration(), request)
    assert made["spec"]["tolerations"] == [
        {"key": "b.io/x", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "a.io/x", "operator": "Exists", "effect": "NoSchedule"},
    ]


async def test_external_ips_may_only_go() -> None:
    def service(*ips: str) -> Object:
        return {"metadata": {"name": "x"}, "spec": {"externalIPs": list(ips)}}

    why = "Use of external IPs is denied by admission control"
    assert await refusal(DenyServiceExternalIPs(), asked(SERVICES, service("1.1.1.1"))) == why
    grown = asked(SERVICES, service("1.1.1.1", "2.2.2.2"), service("1.1.1.1"))
    assert await refusal(DenyServiceExternalIPs(), grown) == why
    await run(DenyServiceExternalIPs(), asked(SERVICES, service("1.1.1.1"), service("1.1.1.1")))


async def test_a_namespace_has_to_be_there() -> None:
    await run(NamespaceExists(), asked(PODS, pod()))
    with pytest.raises(NotFound, match='namespaces "ns" not found'):
        await run(NamespaceExists(), asked(PODS, pod()), World())


async def test_namespaces_select_nodes() -> None:
    def world(text: str) -> World:
        return World(ns={"metadata": {"annotations": {ANNOTATION: text}}})

    request = asked(PODS, pod(nodeSelector={"c": "d"}))
    made = await run(PodNodeSelector(), request, world("a=b, e=f"))
    assert made["spec"]["nodeSelector"] == {"a": "b", "e": "f", "c": "d"}
    other = asked(PODS, pod(nodeSelector={"a": "x"}))
    why = "pod node label selector conflicts with its namespace node label selector"
    assert await refusal(PodNodeSelector(), other, world("a=b")) == why
    with pytest.raises(ApiError, match=r"invalid selector: \[a b c\]"):
        await run(PodNodeSelector(), asked(PODS, pod()), world("a=b=c"))
    with pytest.raises(ApiError, match="Invalid value"):
        await run(PodNodeSelector(), asked(PODS, pod()), world("a!=b"))


def claim(size: str, phase: str = "Bound", storage_class: str = "fast") -> Object:
    resources = {"requests": {"storage": size}}
    spec = {"resources": resources, "storageClassName": storage_class}
    return {"metadata": {"name": "x"}, "spec": spec, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("old", "allowed", "why"),
    [
        (claim("1Gi", "Pending"), True, "Only bound persistent volume claims can be expanded"),
        (claim("1Gi"), False, "only dynamically provisioned pvc can be resized and the"),
        (claim("1Gi", storage_class=""), True, "only dynamically provisioned pvc can be resized"),
        (claim("1Gi"), True, ""),
        (claim("3Gi", "Pending"), False, ""),
    ],
)
async def test_claims_grow_where_their_class_lets_them(
    old: Object, allowed: bool, why: str
) -> None:
    world = World(fast={"metadata": {}, "allowVolumeExpansion": allowed})
    request = asked(CLAIMS, claim("2Gi"), old)
    if why:
        assert (await refusal(PersistentVolumeClaimResize(), request, world)).startswith(why)
    else:
        await run(PersistentVolumeClaimResize(), request, world)


class Rights:
    """Answers questions: only what is listed is allowed."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    async def __call__(self, lookup: Lookup, question: authz.Attributes) -> authz.Decision:
        return authz.Decision(f"{question.verb} {question.full_resource}" in self.allowed)


def owned(*owners: Object) -> Object:
    return {"metadata": {"name": "x", "ownerReferences": list(owners)}}


def owner(kind: str = "Owner", block: bool = True) -> Object:
    uid = {"uid": f"u-{kind}", "blockOwnerDeletion": block}
    return {"apiVersion": "g/v1", "kind": kind, "name": "o", **uid}


@pytest.mark.parametrize(
    ("new", "old", "rights", "why"),
    [
        ([owner(block=False)], None, [], ""),
        (
            [owner(block=False)],
            [],
            [],
            "cannot set an ownerRef on a resource you can't delete: , <nil>",
        ),
        ([owner(block=False)], [], ["delete pods"], ""),
        (
            [owner()],
            None,
            [],
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set "
            "finalizers on: , <nil>",
        ),
        ([owner()], None, ["update owners/finalizers"], ""),
        ([owner()], [owner()], [], ""),
        (
            [owner("Other")],
            None,
            [],
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
            'APIVersion g/v1 Kind Other: no matches for kind "Other" in version "g/v1"',
        ),
    ],
)
async def test_owners_are_set_by_those_who_may(
    new: Sequence[Object], old: Sequence[Object] | None, rights: Sequence[str], why: str
) -> None:
    plugin = OwnerReferencesPermissionEnforcement(Rights(*rights))
    request = asked(PODS, owned(*new), None if old is None else owned(*old))
    if why:
        assert await refusal(plugin, request) == why
    else:
        await run(plugin, request)


CONFIGURED = podnodeselector.Configuration({"a": "b"}, {"ns": {"a": "b", "c": "d"}})


@pytest.mark.parametrize(
    ("own", "annotated", "expected"),
    [
        ({}, None, {"a": "b"}),
        ({"c": "d"}, None, {"a": "b", "c": "d"}),
        ({"c": "x"}, None, "pod node label selector labels conflict with its namespace whitelist"),
        ({"a": "x"}, None, "pod node label selector conflicts with its namespace node label"),
        ({}, "", {}),
        ({}, "e=f", "pod node label selector labels conflict with its namespace whitelist"),
    ],
)
async def test_the_installation_selects_nodes(
    own: Object, annotated: str | None, expected: Object | str
) -> None:
    annotations = {} if annotated is None else {ANNOTATION: annotated}
    world = World(ns={"metadata": {"annotations": annotations}})
    plugin, request = PodNodeSelector(CONFIGURED), asked(PODS, pod(nodeSelector=own))
    if isinstance(expected, str):
        assert (await refusal(plugin, request, world)).startswith(expected)
    else:
        assert (await run(plugin, request, world))["spec"]["nodeSelector"] == expected
