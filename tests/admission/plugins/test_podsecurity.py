from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from admission.attributes import Attributes
from admission.plugins import podsecurity
from admission.plugins.podsecurity import NAMESPACES, PODS, Configuration, PodSecurity
from admission.podsecurity import counts
from apiserver.errors import Forbidden, InternalError, Invalid
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

PREFIX = "pod-security.kubernetes.io/"
DEPLOYMENTS = GroupResource("apps", "deployments")
EXEMPT = Configuration(
    namespaces=frozenset({"free"}), users=frozenset({"root"}), runtime_classes=frozenset({"vm"})
)


class World:
    """Namespaces with their labels, and the pods of all of them."""

    def __init__(self, *pods: Object, **namespaces: dict[str, str]) -> None:
        self.namespaces, self.pods = namespaces, list(pods)

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        labels = self.namespaces.get(name)
        return None if labels is None else namespace_of(labels, name)

    async def first(
        self, resource: GroupResource, namespace: str, most: int
    ) -> tuple[Sequence[Object], int]:
        return self.pods[:most], len(self.pods)


def namespace_of(labels: dict[str, str], name: str = "ns") -> Object:
    return {"metadata": {"name": name, "labels": {PREFIX + k: v for k, v in labels.items()}}}


def pod(name: str = "p", **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def asked(
    resource: GroupResource,
    obj: Object,
    old: Object | None = None,
    user: str = "u",
    namespace: str = "ns",
    subresource: str = "",
) -> Attributes:
    kind = {NAMESPACES: "Namespace", PODS: "Pod", DEPLOYMENTS: "Deployment"}[resource]
    return Attributes(
        1,
        "UPDATE" if old is not None else "CREATE",
        GroupVersionKind(resource.group, "v1", kind),
        GroupVersionResource(resource.group, "v1", resource.resource),
        subresource,
        namespace,
        obj["metadata"]["name"],
        obj,
        old,
        User(user),
    )


async def warnings(
    request: Attributes, world: World, plugin: PodSecurity | None = None
) -> list[str]:
    plugin = plugin or PodSecurity()
    assert plugin.handles(request)
    await plugin.validate(request, world)
    return request.warnings


async def test_enforced() -> None:
    with pytest.raises(Forbidden) as refused:
        await warnings(asked(PODS, pod()), World(ns={"enforce": "baseline"}))
    assert refused.value.message == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": privileged (container "c" '
        "must not set securityContext.privileged=true)"
    )


async def test_warned_of() -> None:
    text = (
        'would violate PodSecurity "baseline:v1.20": privileged (container "c" must not set '
        "securityContext.privileged=true)"
    )
    labels = {"warn": "baseline", "warn-version": "v1.20"}
    assert await warnings(asked(PODS, pod()), World(ns=labels)) == [text]
    deployment = {"metadata": {"name": "d"}, "spec": {"template": pod()}}
    labels = {"enforce": "baseline", "enforce-version": "v1.20"}
    assert await warnings(asked(DEPLOYMENTS, deployment), World(ns=labels)) == [text]


async def test_audited_is_told_to_the_audit_log_alone() -> None:
    request = asked(PODS, pod())
    assert await warnings(request, World(ns={"audit": "baseline"})) == []
    assert request.audit == {
        f"{PREFIX}enforce-policy": "privileged:latest",
        f"{PREFIX}audit-violations": 'would violate PodSecurity "baseline:latest": privileged '
        '(container "c" must not set securityContext.privileged=true)',
    }


@pytest.mark.parametrize(
    "request_",
    [
        asked(PODS, pod(), user="root"),
        asked(PODS, pod(), namespace="free"),
        asked(PODS, pod(runtimeClassName="vm")),
    ],
    ids=["user", "namespace", "runtime class"],
)
async def test_exempt(request_: Attributes) -> None:
    world = World(ns={"enforce": "baseline"}, free={"enforce": "baseline"})
    assert await warnings(request_, world, PodSecurity(EXEMPT)) == []


async def test_only_a_new_image_or_container_is_looked_at_in_an_update() -> None:
    world = World(ns={"enforce": "baseline"})
    old, changed = pod(), pod()
    changed["spec"]["containers"][0]["image"] = "other"
    with pytest.raises(Forbidden):
        await warnings(asked(PODS, changed, old), world)
    assert await warnings(asked(PODS, pod(activeDeadlineSeconds=1), old), world) == []
    debugged = pod(ephemeralContainers=[{"name": "e", "image": "i"}])
    with pytest.raises(Forbidden):
        await warnings(asked(PODS, debugged, old, subresource="ephemeralcontainers"), world)
    assert await warnings(asked(PODS, debugged, debugged), world) == []


def test_nothing_else_is_looked_at() -> None:
    assert not PodSecurity().handles(asked(PODS, pod(), subresource="status"))
    assert not PodSecurity().handles(asked(DEPLOYMENTS, pod(), subresource="scale"))


async def test_a_namespace_that_is_not_there() -> None:
    with pytest.raises(InternalError, match='failed to lookup namespace "ns"'):
        await warnings(asked(PODS, pod()), World())


async def test_labels_have_to_be_valid_when_they_change() -> None:
    bad = namespace_of({"enforce": "x"})
    with pytest.raises(Invalid) as refused:
        await warnings(asked(NAMESPACES, bad), World())
    assert refused.value.message == (
        f'Namespace "ns" is invalid: metadata.labels[{PREFIX}enforce]: Invalid value: "x": must '
        "be one of privileged, baseline, restricted"
    )
    with pytest.raises(Invalid):
        await warnings(asked(NAMESPACES, bad, namespace_of({})), World())
    assert await warnings(asked(NAMESPACES, bad, bad), World()) == []


async def test_a_new_level_is_held_against_the_pods_that_are_there() -> None:
    twins = [pod(name) for name in ("b", "a", "c")]
    other = pod("net", hostNetwork=True)
    world = World(*twins, other)
    update = asked(NAMESPACES, namespace_of({"enforce": "baseline"}), namespace_of({}))
    assert await warnings(update, world) == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level '
        '"baseline:latest"',
        "a (and 2 other pods): privileged",
        "net: host namespaces, privileged",
    ]
    relaxed = asked(
        NAMESPACES, namespace_of({"enforce": "baseline"}), namespace_of({"enforce": "restricted"})
    )
    assert await warnings(relaxed, world) == []


async def test_too_many_pods_are_not_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each controller comes first."""
    monkeypatch.setattr(podsecurity, "_MOST_PODS", 2)
    owner = {"ownerReferences": [{"uid": "u", "controller": True}]}
    replicas = [{**pod(name), "metadata": {"name": name, **owner}} for name in ("r1", "r2")]
    update = asked(NAMESPACES, namespace_of({"enforce": "baseline"}), namespace_of({}))
    assert await warnings(update, World(*replicas, pod("p"))) == [
        "new PodSecurity enforce level only checked against the first 2 of 3 existing pods",
        'existing pods in namespace "ns" violate the new PodSecurity enforce level '
        '"baseline:latest"',
        "p (and 1 other pod): privileged",
    ]


async def test_labels_of_an_exempt_namespace_are_said_to_be_ignored() -> None:
    labels = {"enforce": "baseline", "audit": "restricted", "audit-version": "v1.2"}
    new = asked(NAMESPACES, namespace_of(labels, "free"))
    assert await warnings(new, World(), PodSecurity(EXEMPT)) == [
        'namespace "free" is exempt from Pod Security, and the policy (enforce=baseline:latest, '
        "audit=restricted:v1.2) will be ignored"
    ]


async def counted(
    request: Attributes, world: World, plugin: PodSecurity | None = None
) -> list[tuple[str, ...]]:
    """What a request adds to."""
    kept = (counts.EVALUATIONS, counts.EXEMPTIONS, counts.ERRORS)
    before = [dict(values) for values in kept]
    with suppress(Forbidden, InternalError):
        await warnings(request, world, plugin)
    return [
        key
        for values, was in zip(kept, before, strict=True)
        for key, number in values.items()
        for _ in range(round(number - was.get(key, 0)))
    ]


LABELS = {"enforce": "baseline", "audit": "restricted", "audit-version": "v1.20"}
DEPLOYMENT = {"metadata": {"name": "d"}, "spec": {"template": pod()}}


@pytest.mark.parametrize(
    ("request_", "labels", "added"),
    [
        (asked(PODS, pod()), {}, ["allow privileged latest enforce create pod "]),
        (
            asked(PODS, pod()),
            {"enforce": "privileged", "enforce-version": "v1.9", "warn": "baseline"},
            [
                "allow privileged latest enforce create pod ",
                "deny baseline latest warn create pod ",
            ],
        ),
        (
            asked(PODS, pod(), pod(containers=[]), subresource="resize"),
            LABELS,
            [
                "deny baseline latest enforce update pod resize",
                "deny restricted v1.20 audit update pod resize",
            ],
        ),
        (
            asked(DEPLOYMENTS, DEPLOYMENT),
            {"warn": "baseline", "warn-version": "v1.99"},
            ["deny baseline future warn create controller "],
        ),
        (asked(DEPLOYMENTS, DEPLOYMENT), {}, []),
        (asked(PODS, pod(), pod()), {"enforce": "baseline"}, []),
        (asked(NAMESPACES, namespace_of(LABELS)), {}, []),
        (
            asked(PODS, {"metadata": {"name": "p"}, "spec": {}}),
            {"enforce": "baseline"},
            ["allow baseline latest enforce create pod "],
        ),
    ],
)
async def test_evaluations_are_counted(
    request_: Attributes, labels: dict[str, str], added: list[str]
) -> None:
    found = await counted(request_, World(ns=labels))
    assert sorted(" ".join(key) for key in found) == added


@pytest.mark.parametrize(
    ("request_", "added"),
    [
        (asked(PODS, pod(), user="root"), "create pod "),
        (asked(DEPLOYMENTS, DEPLOYMENT, DEPLOYMENT, namespace="free"), "update controller "),
        (asked(PODS, pod(runtimeClassName="vm")), "create pod "),
        (
            asked(
                DEPLOYMENTS,
                {"metadata": {"name": "d"}, "spec": {"template": pod(runtimeClassName="vm")}},
            ),
            "create controller ",
        ),
    ],
)
async def test_exemptions_are_counted(request_: Attributes, added: str) -> None:
    world = World(ns={"enforce": "baseline", "warn": "baseline"}, free={"warn": "baseline"})
    found = await counted(request_, world, PodSecurity(EXEMPT))
    assert [" ".join(key) for key in found] == [added]


async def test_tenants_choose_no_number_of_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "EVALUATIONS", {("one",): 1.0})
    monkeypatch.setattr(counts, "_MOST", 1)
    for version in ("v1.5", "v1.6"):
        labels = {"warn": "baseline", "warn-version": version}
        await warnings(asked(DEPLOYMENTS, DEPLOYMENT), World(ns=labels))
    one_too_many = ("deny", "baseline", "", "warn", "create", "controller", "")
    assert {("one",): 1, one_too_many: 2} == counts.EVALUATIONS


@pytest.mark.parametrize(
    ("request_", "resource"),
    [(asked(PODS, pod()), "pod"), (asked(DEPLOYMENTS, DEPLOYMENT), "controller")],
)
async def test_labels_that_were_wrong_before_are_told_of(
    request_: Attributes, resource: str
) -> None:
    """Of levels that are looked at: none may hold but for the error."""
    one = f'metadata.labels[{PREFIX}audit]: Invalid value: "x": must be one of privileged, baseline'
    other = (
        f'metadata.labels[{PREFIX}warn]: Invalid value: "y": must be one of privileged, baseline'
    )
    found = await counted(request_, World(ns={"audit": "x", "warn": "y"}))
    assert ("false", "create", resource, "") in found
    said = f"Failed to parse policy: [{one}, restricted, {other}, restricted]"
    assert request_.audit[f"{PREFIX}error"] == said


@pytest.mark.parametrize(
    ("request_", "resource", "said"),
    [
        (asked(PODS, pod()), "pod", None),
        (
            asked(DEPLOYMENTS, DEPLOYMENT),
            "controller",
            'failed to lookup namespace "ns": namespaces "ns" not found',
        ),
    ],
)
async def test_a_namespace_that_is_gone_is_told_of(
    request_: Attributes, resource: str, said: str | None
) -> None:
    assert await counted(request_, World()) == [("true", "create", resource, "")]
    assert request_.audit.get(f"{PREFIX}error") == said
