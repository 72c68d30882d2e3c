"""ImagePolicyWebhook against a server that speaks HTTPS."""

from __future__ import annotations

import base64
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from admission.config import ConfigError, Section
from admission.plugins.imagepolicy import Configuration, ImagePolicyWebhook
from apiserver.meta.objects import Object
from tests.support.plugins import asked, refusal, run
from tests.support.webhooks import Reply, Webhook, bundle, nobody, webhook


def kubeconfig(server: str, **user: str) -> Object:
    cluster = {"server": server, "certificate-authority-data": bundle()}
    return {
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def no_file(path: str) -> bytes:
    raise ConfigError(f"{path} cannot be read")


def configured(server: str, user: Object | None = None, **policy: Any) -> Configuration:
    policy = {"retryBackoff": 1, **policy}
    return Configuration.read(
        Section(policy), "k", Section(kubeconfig(server, **user or {})), no_file
    )


class Asked:
    """A server that allows images as it is told, and what came to it."""

    def __init__(self, *denied: str, annotations: Object | None = None) -> None:
        self.denied, self.annotations = denied, annotations or {}
        self.failures: list[Reply] = []

    async def __call__(self, review: Object) -> Object | Reply:
        if self.failures:
            return self.failures.pop()
        images = [c["image"] for c in review["spec"]["containers"]]
        bad = [image for image in images if image in self.denied]
        status: Object = {"allowed": not bad, "auditAnnotations": self.annotations}
        if bad:
            status["reason"] = f"{bad[0]} is old"
        return {**review, "status": status}


@asynccontextmanager
async def server(answer: Asked) -> AsyncIterator[Webhook]:
    async with webhook(answer) as served:
        yield served


def pod(*images: str, init: str = "", **annotations: str) -> Object:
    spec: Object = {"containers": [{"name": i, "image": i} for i in images]}
    if init:
        spec["initContainers"] = [{"name": "i", "image": init}]
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}


async def test_the_server_is_asked_about_images() -> None:
    async with server(Asked("bad")) as there:
        plugin = ImagePolicyWebhook(configured(there.url, {"token": "t"}))
        annotations = {"my.image-policy.k8s.io/a": "1", "other": "2"}
        await run(plugin, asked(pod("good", init="first", **annotations)))
        error = await refusal(plugin, asked(pod("good", "bad")))
    assert (error.code, error.message) == (
        403,
        'pods "p" is forbidden: image policy webhook backend denied one or more images: bad is old',
    )
    review = there.calls[0]
    assert (review["kind"], review["apiVersion"]) == ("ImageReview", "imagepolicy.k8s.io/v1alpha1")
    assert review["spec"] == {
        "containers": [{"image": "good"}, {"image": "first"}],
        "annotations": {"my.image-policy.k8s.io/a": "1"},
        "namespace": "ns",
    }
    assert there.headers[0]["authorization"] == "Bearer t"


async def test_answers_are_kept_for_their_tenant() -> None:
    async with server(Asked("bad", annotations={"k": "v"})) as there:
        plugin = ImagePolicyWebhook(configured(there.url))
        for _ in range(2):
            request = asked(pod("good"))
            await run(plugin, request)
            assert request.audit == {"imagepolicywebhook.image-policy.k8s.io/k": "v"}
            await refusal(plugin, asked(pod("bad")))
        assert len(there.calls) == 2
        await run(plugin, asked(pod("good"), tenant=2))
        assert len(there.calls) == 3
        plugin.forget(1)
        await run(plugin, asked(pod("good")))
        await run(plugin, asked(pod("good"), tenant=2))
        assert len(there.calls) == 4


async def test_answers_age() -> None:
    clock = itertools.count(0.0, 40.0)
    async with server(Asked("bad")) as there:
        config = configured(there.url, denyTTL=30, allowTTL=600)
        plugin = ImagePolicyWebhook(config, lambda: next(clock))
        for image in ("good", "good"):
            await run(plugin, asked(pod(image)))
        assert len(there.calls) == 1
        for image in ("bad", "bad"):
            await refusal(plugin, asked(pod(image)))
        assert len(there.calls) == 3


async def test_what_is_asked_about_is_not_kept_with_the_answer() -> None:
    """Images may be megabytes long, and answers are kept by the thousand."""
    async with server(Asked()) as there:
        plugin = ImagePolicyWebhook(configured(there.url))
        for image in ("a" * 100_000, "b"):
            await run(plugin, asked(pod(image)))
        assert [len(digest) for _, digest in plugin._kept._kept] == [32, 32]


async def test_without_time_to_live_every_pod_is_asked_about() -> None:
    async with server(Asked()) as there:
        plugin = ImagePolicyWebhook(configured(there.url, allowTTL=-1))
        for _ in range(2):
            await run(plugin, asked(pod("a")))
        assert len(there.calls) == 2


async def test_ephemeral_containers_are_asked_about_alone() -> None:
    async with server(Asked()) as there:
        plugin = ImagePolicyWebhook(configured(there.url))
        changed = pod("a")
        changed["spec"]["ephemeralContainers"] = [{"name": "d", "image": "debug"}]
        await run(plugin, asked(changed, pod("a"), subresource="ephemeralcontainers"))
        assert there.calls[0]["spec"]["containers"] == [{"image": "debug"}]
        assert not plugin.handles(asked(changed, pod("a"), subresource="status"))


@pytest.mark.parametrize(("allows", "status"), [(True, 200), (False, 403)])
async def test_the_default_holds_while_nobody_answers(allows: bool, status: int) -> None:
    plugin = ImagePolicyWebhook(configured(nobody()["url"], defaultAllow=allows))
    request = asked(pod("a"))
    if allows:
        await run(plugin, request)
        assert request.audit == {"imagepolicywebhook.image-policy.k8s.io/failed-open": "true"}
        return
    error = await refusal(plugin, request)
    assert error.code == status
    assert "connection refused" in error.message


async def test_a_server_that_stumbles_is_asked_again() -> None:
    answer = Asked()
    answer.failures = [Reply(b"no", 500), Reply(b"later", 429)]
    async with server(answer) as there:
        await run(ImagePolicyWebhook(configured(there.url)), asked(pod("a")))
        assert len(there.calls) == 3
        answer.failures = [Reply(b"no", 404)]
        await refusal(ImagePolicyWebhook(configured(there.url)), asked(pod("a")))
        assert len(there.calls) == 4


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"status": {"allowed": "yes"}}', b'{"status": 1}'])
async def test_an_answer_that_is_none_allows_nothing(body: bytes) -> None:
    answer = Asked()
    answer.failures = [Reply(body)]
    async with server(answer) as there:
        error = await refusal(ImagePolicyWebhook(configured(there.url)), asked(pod("a")))
    assert error.message == 'pods "p" is forbidden: the answer is no ImageReview'


@pytest.mark.parametrize(
    ("policy", "document", "why"),
    [
        ({"allowTTL": 1}, {}, "allowTTL must be above 1 s and at most 1800 s"),
        ({"denyTTL": 1801}, {}, "denyTTL must be above 1 s and at most 1800 s"),
        ({"retryBackoff": 300_001}, {}, "retryBackoff must be above 0 s and at most 300 s"),
        ({"defaultAllow": "yes"}, {}, "defaultAllow must be true or false"),
        ({"ttl": 1}, {}, "ttl is no field of this configuration"),
        ({}, kubeconfig("http://x"), r"clusters\[0\]\.cluster\.server must be an https URL"),
        ({}, {**kubeconfig("https://x"), "current-context": "y"}, 'contexts has no entry "y"'),
        ({}, {"contexts": {}}, "k: contexts must be a list"),
        (
            {},
            kubeconfig("https://x", **{"client-certificate-data": base64.b64encode(b"x").decode()}),
            "client-certificate and client-key belong together",
        ),
        ({}, kubeconfig("https://x", tokenFile="/none"), "/none cannot be read"),
    ],
)
def test_a_wrong_configuration_is_refused(policy: Object, document: Object, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Configuration.read(
            Section(policy), "k", Section(document or kubeconfig("https://x")), no_file
        )
