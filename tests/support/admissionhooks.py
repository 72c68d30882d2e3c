"""Admission webhooks for tests: configurations, and answers of servers (tests.support.webhooks)."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from admission.chain import Chain
from admission.order import plugins_in_order
from admission.webhooks.call import Caller
from admission.webhooks.observer import Observer
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from apiserver.registry.provision import Provision
from apiserver.registry.quota import Quotas
from apiserver.storage.interface import Store
from tests.support.api import Api, serving
from tests.support.webhooks import Answer, Reply

MAPS = "/api/v1/namespaces/ns/configmaps"
HOOK = "hook.example.com"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"mutating": "MutatingWebhookConfiguration", "validating": "ValidatingWebhookConfiguration"}
EVERYTHING: Object = {
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "resources": ["*/*"],
    "operations": ["*"],
}
CONFIGMAPS: Object = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "operations": ["*"],
}


@asynccontextmanager
async def admitting(
    store: Store, tenant: int, observer: Observer | None = None, **more: Any
) -> AsyncIterator[Api]:
    """An API with all plugins of admission, and the namespaces ``default`` and ``ns``. ``more``: as
    for `serving`."""
    async with serving(store, tenant, **more) as api:
        caller = Caller(api.registry.webhooks, observer)
        quotas = Quotas(store, api.registry.catalog)
        api.registry.chain = Chain(plugins_in_order(quotas, decide, caller, Provision()))
        for name in ("default", "ns"):
            await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield api


def entry(config: Object, name: str = "hook.example.com", **more: Any) -> Object:
    """One webhook of a configuration, about ConfigMaps unless ``more`` says otherwise."""
    return {
        "name": name,
        "clientConfig": config,
        "rules": [CONFIGMAPS],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def configuration(kind: str, *webhooks: Object, name: str = "hooks") -> Object:
    """``kind``: of `KINDS`."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": KINDS[kind],
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }


def collection(kind: str) -> str:
    return f"{ADMISSION}/{KINDS[kind].lower()}s"


async def configure(api: Api, kind: str, *webhooks: Object, name: str = "hooks") -> None:
    """Creates a configuration; this process obeys it at once."""
    await api.ok("POST", collection(kind), configuration(kind, *webhooks, name=name))


def answer(review: Object, **response: Any) -> Object:
    response = {"uid": review["request"]["uid"], "allowed": True, **response}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def patched(review: Object, *operations: Object, **more: Any) -> Object:
    patch = base64.b64encode(orjson.dumps(list(operations))).decode()
    return answer(review, patch=patch, patchType="JSONPatch", **more)


async def allowing(review: Object) -> Object:
    return answer(review)


async def denying(review: Object) -> Object:
    return answer(review, allowed=False)


def labelling(name: str, value: str) -> Answer:
    """Sets a label, whatever labels there are."""

    async def label(review: Object) -> Object:
        labels = review["request"]["object"]["metadata"].get("labels") or {}
        wanted = {"op": "add", "path": "/metadata/labels", "value": {**labels, name: value}}
        return patched(review, wanted)

    return label


def configmap(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": data or {},
    }


def names(reviews: Sequence[Object]) -> list[str]:
    return [review["request"].get("name", "") for review in reviews]


def replying(reply: Reply | Object | None) -> Answer:
    async def reply_with(review: Object) -> Reply | Object | None:
        return reply

    return reply_with


def said(**response: Any) -> Answer:
    async def say(review: Object) -> Object:
        return answer(review, **response)

    return say


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
