"""Tokens of service accounts as they are asked for over HTTP: the answer, admission, refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from admission.attributes import Attributes
from admission.chain import Chain
from apiserver.codec import protobuf
from apiserver.errors import BadRequest
from apiserver.storage.postgres import PostgresStore
from tests.support.accounttokens import (
    ACCOUNT,
    NS,
    PROTOBUF,
    ROOT,
    issue,
    payload,
    ref,
    refused,
    serving_tokens,
)
from tests.support.api import Api


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving_tokens(store, tenant) as served:
        yield served


async def test_the_answer_is_the_request_filled_in(api: Api) -> None:
    account = await api.ok("GET", ACCOUNT, **ROOT)
    made = await issue(api)
    assert made["kind"] == "TokenRequest" and made["apiVersion"] == "authentication.k8s.io/v1"
    metadata = made["metadata"]
    assert {k: metadata[k] for k in ("name", "namespace", "uid")} == {
        k: account["metadata"][k] for k in ("name", "namespace", "uid")
    }
    (owner,) = metadata["managedFields"]
    assert (
        owner["fieldsV1"] == {"f:spec": {"f:expirationSeconds": {}}}
        and owner["subresource"] == "token"
    )
    assert made["spec"] == {
        "audiences": ["https://kubernetes.default.svc"],
        "boundObjectRef": None,
        "expirationSeconds": 3600,
    }
    claims = payload(made["status"]["token"])
    assert (
        claims["exp"] - claims["iat"] == 3600 and claims["sub"] == "system:serviceaccount:ns:robot"
    )
    assert await issue(api, f"{ACCOUNT}/token?dryRun=All")


async def test_it_speaks_protobuf(api: Api) -> None:
    asked = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "spec": {"audiences": ["me"], "expirationSeconds": 700},
    }
    code, body = await api(
        "POST", f"{ACCOUNT}/token", protobuf.encode(asked), PROTOBUF, accept=PROTOBUF, **ROOT
    )
    assert code == 201
    made = protobuf.decode(body)
    assert made["spec"]["audiences"] == ["me"] and made["spec"]["expirationSeconds"] == 700
    assert payload(made["status"]["token"])["aud"] == ["me"]


async def test_it_is_not_a_table(api: Api) -> None:
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    assert (await api("POST", f"{ACCOUNT}/token", {"spec": {}}, accept=table, **ROOT))[0] == 406
    made = await api.ok(
        "POST", f"{ACCOUNT}/token", {"spec": {}}, accept=f"{table},application/json", **ROOT
    )
    assert made["kind"] == "TokenRequest"
    code, body = await api(
        "POST", f"{ACCOUNT}/token", {"spec": {"x": 1}}, accept="application/yaml", **ROOT
    )
    assert code == 201 and b"kind: TokenRequest" in body and "unknown field" in api.warnings[0]


class Policy:
    """An admission plugin that gives every token an audience, and refuses short ones."""

    name = "TokenPolicy"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def handles(self, attributes: Attributes) -> bool:
        return attributes.subresource == "token"

    async def admit(self, attributes: Attributes, _: Any) -> None:
        assert attributes.object is not None
        attributes.object["spec"]["audiences"] = ["of the policy"]

    async def validate(self, attributes: Attributes, _: Any) -> None:
        assert attributes.object is not None
        self.seen.append(
            (
                *attributes.kind,
                *attributes.resource,
                attributes.name,
                attributes.dry_run,
                attributes.object["spec"]["audiences"],
            )
        )
        if attributes.object["spec"]["expirationSeconds"] < 1000:
            raise BadRequest("too short for this policy")


async def test_admission_sees_and_changes_requests(api: Api) -> None:
    policy = Policy()
    api.registry.chain = Chain([policy])
    made = await issue(api, f"{ACCOUNT}/token?dryRun=All")
    assert made["spec"]["audiences"] == payload(made["status"]["token"])["aud"] == ["of the policy"]
    kind = ("authentication.k8s.io", "v1", "TokenRequest")
    assert policy.seen == [(*kind, "", "v1", "serviceaccounts", "robot", True, ["of the policy"])]
    assert await refused(api, expirationSeconds=900) == (400, "too short for this policy")
    assert (await refused(api, expirationSeconds=60))[0] == 422


async def test_refusals_in_kube_apiservers_order(api: Api) -> None:
    assert (await refused(api, expirationSeconds=60))[0] == 422
    assert await refused(api, boundObjectRef=ref("Pod", "absent")) == (
        404,
        'pods "absent" not found',
    )
    assert await refused(api, boundObjectRef=ref("Node", "absent")) == (
        404,
        'nodes "absent" not found',
    )
    assert await refused(api, boundObjectRef=ref("Secret", "a\0b")) == (
        404,
        'secrets "a\\x00b" not found',
    )
    assert (await refused(api, expirationSeconds=60, boundObjectRef=ref("ConfigMap", "x")))[
        0
    ] == 422
    absent = f"{NS}/serviceaccounts/absent/token"
    code, body = await api("POST", absent, {"spec": {"expirationSeconds": 60}}, **ROOT)
    assert (code, body["message"]) == (404, 'serviceaccounts "absent" not found')
    code, body = await api(
        "POST", f"{ACCOUNT}/token", {"metadata": {"uid": "x"}, "spec": {}}, **ROOT
    )
    assert code == 409 and "the UID in the token request (x) does not match" in body["message"]
    assert (await api("GET", f"{ACCOUNT}/token", **ROOT))[0] == 405
