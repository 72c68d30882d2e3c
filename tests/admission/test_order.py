"""The order of admission: every plugin stands in it, as kube-apiserver has them, and acts."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import AsyncIterator, Container
from typing import Any

import pytest
import pytest_asyncio

from admission import names, plugins, policy
from admission.chain import Chain, Plugin
from admission.order import plugins_in_order
from admission.webhooks.call import Caller
from admission.webhooks.client import WebhookClient
from apiserver.registry.authorizer import decide
from apiserver.registry.provision import Provision
from apiserver.storage.postgres import PostgresStore
from tests.admission.plugins.test_certificates import request
from tests.support.api import Api, serving
from tests.support.users import RBAC, RBAC_GROUP, ROOT, as_user, authorizing

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class _NoQuotas:
    async def charge(self, *_: Any) -> None:
        raise AssertionError("there is no quota")

    settle = charge


def in_order(enabled: Container[str] = names.ORDER) -> list[Plugin]:
    """All of them, also those that are off by default."""
    return plugins_in_order(_NoQuotas(), decide, Caller(WebhookClient()), Provision(), enabled)


def test_the_order_is_that_of_kube_apiserver() -> None:
    here = [plugin.name for plugin in in_order()]
    assert here == list(names.ORDER)


def test_what_runs_by_default_is_what_kube_apiserver_runs() -> None:
    running = in_order(names.DEFAULT)
    assert {plugin.name for plugin in running} == {p.name for p in in_order()} - names.OFF


@pytest.mark.parametrize(
    ("enable", "disable", "text"),
    [
        (["PodSecurty"], [], 'there is no plugin "PodSecurty" that could be enabled'),
        ([], ["x"], 'there is no plugin "x" that could be disabled'),
        (["AlwaysDeny"], ["AlwaysDeny"], 'plugin "AlwaysDeny" is enabled and disabled'),
    ],
)
def test_wrong_names_of_plugins(enable: list[str], disable: list[str], text: str) -> None:
    with pytest.raises(names.PluginError, match=text):
        names.enabled(enable, disable)


def test_plugins_are_switched() -> None:
    running = names.enabled(["AlwaysPullImages"], ["PodSecurity", "NodeRestriction"])
    assert running == (names.DEFAULT | {"AlwaysPullImages"}) - {"PodSecurity", "NodeRestriction"}


def test_every_plugin_stands_in_the_order() -> None:
    classes = {
        value
        for package in (plugins, policy)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        for value in vars(importlib.import_module(module.name)).values()
        if inspect.isclass(value)
        and value.__module__ == module.name
        and isinstance(getattr(value, "name", None), str)
    }
    assert classes <= {type(plugin) for plugin in in_order()}


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """``eve`` may write certificate signing requests with all subresources; ``c`` is one of
    them."""
    async with serving(store, tenant) as served:
        authorizing(served)
        served.registry.chain = Chain(in_order(names.DEFAULT))
        await _grant(served, "writer", ["*"], ["certificates.k8s.io"], ["create", "get", "update"])
        spec = {"signerName": "example.com/s", "request": request("dev"), "usages": ["any"]}
        body = {"metadata": {"name": "c"}, "spec": spec}
        await served.ok("POST", REQUESTS, body, **as_user("eve"))
        yield served


async def _grant(
    api: Api, name: str, resources: list[str], groups: list[str], verbs: list[str]
) -> None:
    rules = [{"apiGroups": groups, "resources": resources, "verbs": verbs}]
    role = {"metadata": {"name": name}, "rules": rules}
    await api.ok("POST", f"{RBAC}/clusterroles", role, **ROOT)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "eve"}],
    }
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding, **ROOT)


@pytest.mark.parametrize(
    ("subresource", "verb", "condition"),
    [("approval", "approve", "Approved"), ("status", "sign", "Failed")],
)
async def test_a_request_is_approved_and_signed_by_those_who_may(
    api: Api, subresource: str, verb: str, condition: str
) -> None:
    body = await api.ok("GET", f"{REQUESTS}/c", **ROOT)
    body["status"] = {"conditions": [{"type": condition, "status": "True", "reason": "R"}]}
    path = f"{REQUESTS}/c/{subresource}"
    status, answer = await api("PUT", path, body, **as_user("eve"))
    assert status == 403
    assert answer["message"] == (
        'certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to '
        f'{verb} requests with signerName "example.com/s"'
    )
    await _grant(api, "signer", ["signers"], ["certificates.k8s.io"], [verb])
    await api.ok("PUT", path, body, **as_user("eve"))


async def test_nobody_asks_for_a_client_certificate_of_the_masters(api: Api) -> None:
    spec = {
        "signerName": "kubernetes.io/kube-apiserver-client",
        "request": request("system:masters"),
        "usages": ["client auth"],
    }
    body = {"metadata": {"name": "m"}, "spec": spec}
    status, answer = await api("POST", REQUESTS, body, **ROOT)
    assert status == 403
    assert answer["message"].endswith("signer with system:masters group is not allowed")
