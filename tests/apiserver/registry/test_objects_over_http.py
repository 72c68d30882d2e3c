"""Rules of writing and deleting that only show through the whole API: which of two mistakes is
named, what a deletion leaves behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.meta import features
from apiserver.storage.interface import Store
from tests.support.api import TYPES, Api, serving

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


def config_map(name: str = "x", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


@pytest.mark.parametrize(
    ("version", "passes"),
    [("1", False), ("18446744073709551615", False), ("007", False)]
    + [(v, True) for v in ("", "0", "-1", "+1", "x", "1x", "18446744073709551616")],
)
async def test_only_a_version_of_the_store_is_refused_at_creation(
    api: Api, version: str, passes: bool
) -> None:
    status, answer = await api("POST", CONFIG_MAPS, config_map(resourceVersion=version))
    if passes:
        assert (status, answer["metadata"]["resourceVersion"].isdigit()) == (201, True)
        read = await api.ok("GET", f"{CONFIG_MAPS}/x")
        assert read["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]
    else:
        assert answer["message"] == "resourceVersion should not be set on objects to be created"
        assert (await api("GET", f"{CONFIG_MAPS}/x"))[0] == 404


async def test_a_limit_range_needs_no_name(api: Api) -> None:
    path = "/api/v1/namespaces/default/limitranges"
    made = [await api.ok("POST", path, {"spec": {"limits": []}}) for _ in range(2)]
    one, other = (UUID(obj["metadata"]["name"]) for obj in made)
    assert one != other
    named = {"metadata": {"generateName": "x-"}, "spec": {"limits": []}}
    assert (await api.ok("POST", path, named))["metadata"]["name"].startswith("x-")


async def test_a_service_takes_its_endpoints_with_it(api: Api) -> None:
    services, endpoints = (f"/api/v1/namespaces/default/{r}" for r in ("services", "endpoints"))
    for name in ("a", "b", "c", "d"):
        metadata = {"name": name, **({"finalizers": ["x.y/z"]} if name == "b" else {})}
        await api.ok("POST", services, {"metadata": metadata, "spec": {"ports": [{"port": 80}]}})
        if name != "d":
            await api.ok("POST", endpoints, {"metadata": {"name": name}})
    await api.ok("DELETE", f"{services}/a?dryRun=All")
    await api.ok("GET", f"{endpoints}/a")
    await api.ok("DELETE", f"{services}/a")
    assert (await api("GET", f"{endpoints}/a"))[0] == 404
    # one that waits keeps them until its last finalizer is taken off
    waits = await api.ok("DELETE", f"{services}/b")
    await api.ok("GET", f"{endpoints}/b")
    waits["metadata"]["finalizers"] = []
    await api.ok("PUT", f"{services}/b", waits)
    assert (await api("GET", f"{endpoints}/b"))[0] == 404
    # nor does it matter whether there are any
    await api.ok("DELETE", f"{services}/d")
    await api.ok("GET", f"{endpoints}/c")


async def test_an_apply_that_creates_may_not_name_a_uid(api: Api) -> None:
    status, found = await api.patch(
        f"{CONFIG_MAPS}/x", config_map(uid="mine"), "apply", fieldManager="m"
    )
    assert status == 409
    assert found["message"].endswith(
        "uid mismatch: the provided object specified uid mine, and no existing object was found"
    )


async def test_a_patch_of_nothing_is_not_found_whatever_it_says(api: Api) -> None:
    status, _ = await api(
        "PATCH", f"{CONFIG_MAPS}/none", b"no patch", "application/merge-patch+json"
    )
    assert status == 404


async def test_a_job_goes_only_when_somebody_lets_go_of_its_pods(api: Api) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": pod}},
    }
    await api.ok("POST", JOBS, job)
    marked = await api.ok("DELETE", f"{JOBS}/j")
    assert marked["metadata"]["finalizers"] == ["orphan"]
    assert "child pods are preserved by default when jobs are deleted" in api.warnings[0]
    gone = await api.ok("DELETE", f"{JOBS}/j?propagationPolicy=Background")
    assert (gone["status"], api.warnings) == ("Success", [])


async def test_what_goes_at_once_is_seen_as_it_was(api: Api) -> None:
    pod = {
        "nodeName": "n",
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i"}],
    }
    await api.ok(
        "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}
    )
    await api.ok(
        "POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}
    )
    await api.ok("DELETE", f"{PODS}/p?propagationPolicy=Foreground&gracePeriodSeconds=0")
    gone = await api.ok("DELETE", f"{PODS}/p?propagationPolicy=Background")
    assert gone["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (await api("GET", f"{PODS}/p"))[0] == 404


async def test_a_missing_object_is_named_before_a_precondition(api: Api) -> None:
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}
    assert (await api("DELETE", f"{CONFIG_MAPS}/none", body))[0] == 404
    await api.ok("POST", CONFIG_MAPS, config_map())
    status, found = await api("DELETE", f"{CONFIG_MAPS}/x", body)
    assert status == 409
    assert found["details"] == {"name": "x", "kind": "ConfigMap"}


async def test_an_unsafe_deletion_is_a_right_of_its_own(api: Api) -> None:
    async def authorize(_: Any, attributes: Attributes) -> Decision:
        return Decision(attributes.verb != "unsafe-delete-ignore-read-errors")

    api.server.authorizer = cast(Any, SimpleNamespace(authorize=authorize))
    status, found = await api(
        "DELETE", f"{CONFIG_MAPS}/x?ignoreStoreReadErrorWithClusterBreakingPotential=true"
    )
    assert status == 403
    why = (
        'configmaps "x" is forbidden: not permitted to do '
        '"unsafe-delete-ignore-read-errors", reason: '
    )
    assert found["message"] == why


@pytest.mark.parametrize("stream", ["exec", "attach", "portforward"])
async def test_whoever_streams_may_create_whatever_the_method(
    api: Api, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def authorize(_: Any, attributes: Attributes) -> Decision:
        return Decision(attributes.verb != "create", "not here")

    spec = {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False}
    await api.ok("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    path, no_node = f"{PODS}/p/{stream}", "pod p does not have a host assigned"
    assert (await api("GET", path))[1]["message"] == no_node
    api.server.authorizer = cast(Any, SimpleNamespace(authorize=authorize))
    status, found = await api("GET", path)
    assert (status, found["message"]) == (403, 'pods "p" is forbidden: not here')
    monkeypatch.setitem(features.ENABLED, "AuthorizePodWebsocketUpgradeCreatePermission", False)
    assert (await api("GET", path))[1]["message"] == no_node


async def test_what_an_answer_cannot_be_written_in_counts_before_what_was_asked(api: Api) -> None:
    status, found = await api(
        "POST", f"{CONFIG_MAPS}?dryRun=Some", config_map(), "text/plain", accept="text/html"
    )
    assert (status, found["reason"]) == (406, "NotAcceptable")
    status, found = await api("POST", f"{CONFIG_MAPS}?dryRun=Some", config_map(), "text/plain")
    assert (status, found["reason"]) == (415, "UnsupportedMediaType")


async def test_of_several_errors_in_a_patched_object_its_text_says_which_is_first(api: Api) -> None:
    """Members that a patch touches are sorted in the text, whatever their order in the patch."""
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    await api.ok("POST", roles, {"kind": "ClusterRole", "metadata": {"name": "r"}})
    patch = b'{"rules":[{"verbs":"get","resources":"pods"}]}'
    status, found = await api("PATCH", f"{roles}/r", patch, "application/merge-patch+json")
    assert status == 422
    assert found["message"].endswith("PolicyRule.rules.resources of type []string")
    patch = b'{"zone":1,"area":1}'
    status, found = await api(
        "PATCH", f"{roles}/r?fieldValidation=Strict", patch, "application/merge-patch+json"
    )
    assert found["message"].endswith('unknown field "area", unknown field "zone"')


async def test_a_system_class_is_kept_from_a_deletion_of_its_own_only(api: Api) -> None:
    """kube-apiserver's guard is on the deletion of one object, and its deletion of collections does
    not pass by there (pkg/registry/scheduling/priorityclass/storage)."""
    classes, name = "/apis/scheduling.k8s.io/v1/priorityclasses", "system-cluster-critical"
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    await api.ok("POST", classes, {**kind, "metadata": {"name": name}, "value": 2_000_000_000})
    status, found = await api("DELETE", f"{classes}/{name}")
    assert (status, found["reason"]) == (403, "Forbidden")
    await api.ok("DELETE", f"{classes}?dryRun=All")
    assert (await api.ok("GET", f"{classes}/{name}"))["metadata"]["name"] == name


async def test_a_status_of_a_pod_cannot_begin_or_undo_its_deletion(api: Api) -> None:
    """pkg/registry/core/pod/strategy.go: what a status says of it counts for nothing."""
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    sent = await api.ok("POST", PODS, pod)
    sent["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    sent["status"]["message"] = "first"
    kept = await api.ok("PUT", f"{PODS}/p/status", sent)
    assert "deletionTimestamp" not in kept["metadata"]
    assert kept["status"]["message"] == "first"

    begun = (await api.ok("DELETE", f"{PODS}/p"))["metadata"]["deletionTimestamp"]
    sent = await api.ok("GET", f"{PODS}/p")
    sent["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    sent["status"]["message"] = "second"
    kept = await api.ok("PUT", f"{PODS}/p/status", sent)
    assert (kept["metadata"]["deletionTimestamp"], kept["status"]["message"]) == (begun, "second")


@pytest.mark.parametrize("more", ["", "&sortBy=metadata.name"])
async def test_a_token_is_read_before_the_version_beside_it(api: Api, more: str) -> None:
    """k8s.io/apiserver ``storage.ValidateListOptions``: a version that would not even be one is not
    read where a token says which it is."""
    for name in ("a", "b"):
        await api.ok("POST", CONFIG_MAPS, config_map(name))
    page = await api.ok("GET", f"{CONFIG_MAPS}?limit=1{more}")
    token = page["metadata"]["continue"]

    async def refusal(token: str, version: str) -> str:
        url = f"{CONFIG_MAPS}?continue={token}&resourceVersion={version}{more}"
        status, found = await api("GET", url)
        return str(found["message"]) if status == 400 else str(status)

    not_allowed = "specifying resource version is not allowed when using continue"
    for version in ("invalid", "1", "00"):
        assert await refusal(token, version) == not_allowed
        assert "continue key is not valid" in await refusal("none", version)
    for version in ("", "0"):
        assert await refusal(token, version) == "200"


@pytest.mark.parametrize(("value", "refused"), [("true", True), ("", True), ("FALSE", False)])
async def test_nothing_is_exported(api: Api, value: str, refused: bool) -> None:
    await api.ok("POST", CONFIG_MAPS, config_map())
    status, answer = await api("GET", f"{CONFIG_MAPS}/x?export={value}")
    if refused:
        said = "the export parameter, deprecated since v1.14, is no longer supported"
        assert (status, answer["message"]) == (400, said)
    else:
        assert status == 200
    assert (await api("GET", f"{CONFIG_MAPS}?export={value}"))[0] == 200


@pytest.mark.parametrize("selector", ["metadata.name=y", "metadata.namespace=default"])
async def test_a_watch_of_one_object_selects_no_other(api: Api, selector: str) -> None:
    path = CONFIG_MAPS.replace("/v1/", "/v1/watch/") + "/x?timeoutSeconds=1&fieldSelector="
    status, answer = await api("GET", path + selector.replace("=", "%3D"))
    said = "fieldSelector metadata.name doesn't match requested name"
    assert (status, answer["message"]) == (400, said)


async def test_preconditions_may_stand_in_the_query(api: Api) -> None:
    made = await api.ok("POST", CONFIG_MAPS, config_map())
    metadata, path = made["metadata"], f"{CONFIG_MAPS}/x"
    for query in ("uid=other", "resourceVersion=1", f"uid={metadata['uid']}&resourceVersion=1"):
        status, answer = await api("DELETE", f"{path}?{query}")
        assert (status, answer["reason"]) == (409, "Conflict")
        assert "in the precondition (" in answer["message"]
    # a collection's resourceVersion is both
    status, answer = await api("DELETE", f"{CONFIG_MAPS}?resourceVersion=0")
    assert (status, answer["reason"]) == (409, "Conflict")
    # empty ones are none, and a body takes the place of the query
    await api.ok("DELETE", f"{path}?uid=&resourceVersion=&dryRun=All")
    await api.ok("DELETE", f"{path}?uid=other", {"dryRun": ["All"]})
    query = f"uid={metadata['uid']}&resourceVersion={metadata['resourceVersion']}"
    await api.ok("DELETE", f"{path}?{query}")


BORN = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": -5}
"""What a client may say of an object that a PUT or an apply makes, and may not in a POST."""
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_an_object_may_be_made_as_one_that_is_being_deleted(api: Api, method: str) -> None:
    lease: dict[str, Any] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}}
    lease["metadata"] = {"name": "x", "selfLink": "/x", "finalizers": ["a.b/c"], **BORN}
    type = TYPES["apply"] if method == "PATCH" else "application/json"
    metadata = (await api.ok(method, f"{LEASES}/x?fieldManager=me", lease, type))["metadata"]
    assert ({name: metadata.get(name) for name in BORN}, "selfLink" in metadata) == (BORN, False)
    left = await api.ok("DELETE", f"{LEASES}/x?propagationPolicy=Foreground")
    assert left["metadata"]["deletionGracePeriodSeconds"] == 0, "its kind knows no grace"
    assert left["metadata"]["deletionTimestamp"] == BORN["deletionTimestamp"]
    assert left["metadata"]["finalizers"] == ["a.b/c", "foregroundDeletion"]
    await api.patch(f"{LEASES}/x", {"metadata": {"finalizers": None}})
    assert (await api("GET", f"{LEASES}/x"))[0] == 404


async def test_a_pod_made_without_grace_can_be_deleted(api: Api) -> None:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", **BORN}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    await api.ok("PATCH", f"{PODS}/x?fieldManager=me", pod, TYPES["apply"])
    await api.ok("DELETE", f"{PODS}/x?gracePeriodSeconds=0")
    assert (await api("GET", f"{PODS}/x"))[0] == 404


async def test_what_only_the_server_says_of_a_posted_object_does_not_count(api: Api) -> None:
    said = {**BORN, "selfLink": "/x", "uid": "me", "creationTimestamp": BORN["deletionTimestamp"]}
    metadata = (await api.ok("POST", CONFIG_MAPS, config_map(**said)))["metadata"]
    assert not metadata.keys() & {*BORN, "selfLink"}
    assert metadata["uid"] != said["uid"]
    assert metadata["creationTimestamp"] != said["creationTimestamp"]
