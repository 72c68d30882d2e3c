"""Annotations of audit entries, beside those of decisions and of admission: upstream's names, by
which operators search."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from apiserver.audit.policy import parse
from apiserver.audit.recorder import Recorder
from apiserver.authn.accountclaims import Ref
from apiserver.authn.legacytokens import INVALID_SINCE
from apiserver.kinds.apiextensions import conditions
from apiserver.meta import features
from apiserver.storage.postgres import PostgresStore
from tests.support.accounttokens import ACCOUNT, NS, ROOT, payload, serving_tokens
from tests.support.api import Api
from tests.support.auditworld import Listener
from tests.support.widgets import CRD, CRDS, V1, V2, crd

EVERYTHING = parse(
    {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
)
CORRUPT = "?ignoreStoreReadErrorWithClusterBreakingPotential=true"


class Told:
    """The API of two tenants, and what the audit log is told of the last request."""

    def __init__(self, api: Api) -> None:
        self.api, self.heard = api, Listener()
        api.server.audit = api.registry.audit = Recorder(EVERYTHING, [self.heard])

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """(annotations, answer)."""
        self.heard.events.clear()
        _, answer = await self.api(method, path, body, **(headers or ROOT))
        event = self.heard.events[-1]
        assert event["responseStatus"]["code"], event
        return event["annotations"], answer


@pytest_asyncio.fixture
async def told(store: PostgresStore, tenant: int) -> AsyncIterator[Told]:
    async with serving_tokens(store, tenant) as api:
        yield Told(api)


async def test_a_token_that_is_issued_is_named(told: Told) -> None:
    notes, answer = await told("POST", f"{ACCOUNT}/token", {"spec": {}})
    claims = payload(answer["status"]["token"])
    assert notes["authentication.kubernetes.io/issued-credential-id"] == f"JTI={claims['jti']}"
    mismatch = "authentication.k8s.io/token-request-uid-mismatch"
    assert mismatch not in notes


async def test_a_token_for_another_uid_is_told_where_it_is_issued(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(features.ENABLED, "TokenRequestServiceAccountUIDValidation", False)
    uid = (await told.api.ok("GET", ACCOUNT, **ROOT))["metadata"]["uid"]
    notes, _ = await told("POST", f"{ACCOUNT}/token", {"metadata": {"uid": "u"}, "spec": {}})
    assert notes["authentication.k8s.io/token-request-uid-mismatch"] == (
        f"the UID in the token request (u) does not match the UID of the service account ({uid})"
    )


async def test_a_token_that_was_marked_invalid_is_told_of_its_refusal(told: Told) -> None:
    account = await told.api.ok("GET", ACCOUNT, **ROOT)
    name = {"kubernetes.io/service-account.name": "robot"}
    secret = await told.api.server.tokens.issue_legacy(
        (told.api.tenant.id, "default"), "ns", Ref("robot", account["metadata"]["uid"]), "s"
    )
    body = {
        "metadata": {"name": "s", "annotations": name, "labels": {INVALID_SINCE: "2026-01-01"}},
        "type": "kubernetes.io/service-account-token",
        "stringData": {"token": secret},
    }
    await told.api.ok("POST", f"{NS}/secrets", body, **ROOT)
    notes, answer = await told("GET", "/version", authorization=f"Bearer {secret}")
    assert answer["code"] == 401
    prefix = "authentication.k8s.io/legacy-token"
    assert notes[prefix] == "system:serviceaccount:ns:robot"
    assert notes[f"{prefix}-invalidated"] == "s/ns"


@pytest.mark.parametrize(
    ("path", "deprecated"),
    [
        ("/api/v1/componentstatuses", True),
        (f"{NS}/endpoints", True),
        (f"{NS}/configmaps", False),
    ],
)
async def test_deprecated_versions_are_marked(told: Told, path: str, *, deprecated: bool) -> None:
    notes, _ = await told("GET", path)
    assert notes.get("k8s.io/deprecated") == ("true" if deprecated else None)
    assert "k8s.io/removed-release" not in notes


async def test_a_write_in_a_deprecated_version_is_marked(told: Told) -> None:
    notes, _ = await told("POST", f"{NS}/endpoints", {"metadata": {"name": "e"}})
    assert notes["k8s.io/deprecated"] == "true"


async def test_versions_that_a_definition_deprecates_are_marked_without_a_release(
    told: Told,
) -> None:
    warning = "v2 is deprecated in v1.2+, unavailable in v1.25+"
    api = told.api
    body = crd(None, deprecated=True, deprecationWarning=warning)
    made = await api.ok("POST", CRDS, body, **ROOT)
    conditions.settle(made, [], datetime.now(UTC))
    await api.ok("PUT", f"{CRD}/status", made, **ROOT)
    await api.until(lambda: api.catalog.find(api.tenant, "example.com", "widgets"))
    notes, _ = await told("GET", V2)
    assert notes["k8s.io/deprecated"] == "true" and "k8s.io/removed-release" not in notes
    notes, _ = await told("GET", V1)
    assert "k8s.io/deprecated" not in notes


async def test_an_unsafe_deletion_is_told(told: Told) -> None:
    await told.api.ok("POST", f"{NS}/configmaps", {"metadata": {"name": "a"}}, **ROOT)
    notes, _ = await told("DELETE", f"{NS}/configmaps/a{CORRUPT}")
    assert notes["apiserver.k8s.io/unsafe-delete-ignore-read-error"] == ""


async def test_a_decision_without_a_reason_says_so(told: Told) -> None:
    notes, _ = await told("GET", f"{NS}/configmaps")
    assert notes["authorization.k8s.io/decision"] == "allow"
    assert notes["authorization.k8s.io/reason"] == ""
