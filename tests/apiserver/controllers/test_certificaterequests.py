"""Certificate requests: approved by what RBAC says, signed by the tenant's authority, cleaned."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import pytest_asyncio
from cryptography import x509

from apiserver.authn import signers
from apiserver.authn.clientca import ClientAuthority
from apiserver.controllers import certificaterequests
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import Controllers, Trust
from apiserver.controllers.requestcleaner import RequestCleaner, due
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time
from apiserver.registry.changes import Edit
from apiserver.registry.create import create
from apiserver.registry.scope import Tenant
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from apiserver.user import User
from tests.support.clientcertificates import PEM, csr, name, unsigned
from tests.support.definitionworker import Worker

REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
ROLES = ("rbac.authorization.k8s.io", "clusterroles")
BINDINGS = ("rbac.authorization.k8s.io", "clusterrolebindings")
AUTHORITY = ClientAuthority(b"secret")
KUBELET = ("digital signature", "client auth")
NODE = name("system:node:a", "system:nodes")
HOUR = timedelta(hours=1)


def controllers(worker: Worker, store: PostgresStore) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    return Controllers(
        worker.registry,
        store.database,
        tenant_of,
        "test",
        worker.controller,
        trust=Trust(client_authority=AUTHORITY),
    )


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    monkeypatch.setattr(certificaterequests, "SETTLE", 0.01)
    some = controllers(worker, store)
    yield worker
    await some.stop()


async def approve(worker: Worker, request: str) -> None:
    async def edited(obj: Object) -> Object:
        condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "m"}
        obj.setdefault("status", {})["conditions"] = [condition]
        return obj

    scope = replace(worker.scope(REQUESTS, request), subresource="approval")
    await update(worker.registry, scope, Edit(edited), Request("test"))


async def status_with(worker: Worker, request: str, member: str) -> Any:
    """The status, once it has that."""

    async def there() -> bool:
        obj = await worker.get(REQUESTS, request)
        return obj is not None and member in (obj.get("status") or {})

    await worker.until_true(there)
    obj = await worker.get(REQUESTS, request)
    assert obj is not None
    return obj["status"]


async def issued(worker: Worker, request: str) -> x509.Certificate:
    status = await status_with(worker, request, "certificate")
    return x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))


async def test_what_is_approved_is_signed(kept: Worker) -> None:
    asked = csr("c", name("u", "g"), signers.CLIENT, "client auth", expirationSeconds=3600)
    await kept.create(REQUESTS, asked)
    await approve(kept, "c")
    certificate = await issued(kept, "c")
    assert AUTHORITY.signer(certificate) == kept.tenant.id
    assert signers.common_name(certificate.subject) == "u"
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert life == timedelta(minutes=65)


async def test_what_a_signer_does_not_sign_has_failed(kept: Worker) -> None:
    await kept.create(REQUESTS, csr("c", name("u"), signers.KUBELET_CLIENT, *KUBELET))
    await approve(kept, "c")

    async def failed() -> bool:
        obj = await kept.get(REQUESTS, "c")
        assert obj is not None
        return len(obj["status"]["conditions"]) == 2

    await kept.until_true(failed)
    obj = await kept.get(REQUESTS, "c")
    assert obj is not None
    condition = obj["status"]["conditions"][1]
    assert (condition["type"], condition["reason"]) == ("Failed", "SignerValidationFailure")
    assert condition["message"] == "subject organization is not system:nodes"
    assert "certificate" not in obj["status"]


async def test_others_signers_are_left_to_them(kept: Worker) -> None:
    await kept.create(REQUESTS, csr("theirs", name("u"), "example.com/s", "client auth"))
    await approve(kept, "theirs")
    await kept.create(REQUESTS, csr("ours", name("u"), signers.CLIENT, "client auth"))
    await approve(kept, "ours")
    await issued(kept, "ours")
    obj = await kept.get(REQUESTS, "theirs")
    assert obj is not None and "certificate" not in obj["status"]


async def test_the_sweep_signs_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    await worker.create(REQUESTS, csr("c", name("u"), signers.CLIENT, "client auth"))
    await approve(worker, "c")
    successor = controllers(worker, store)
    await successor.sweep()
    await issued(worker, "c")
    await successor.stop()


async def ask(worker: Worker, named: str, user: str) -> None:
    scope = replace(worker.scope(REQUESTS), user=User(user, groups=("kubelets",)))
    asked = csr(named, NODE, signers.KUBELET_CLIENT, *KUBELET)
    await create(worker.registry, scope, scope.decode(asked)[0], Request("test"))


async def allow(worker: Worker, right: str) -> None:
    resource = f"certificatesigningrequests/{right}"
    rule = {"apiGroups": [REQUESTS[0]], "resources": [resource], "verbs": ["create"]}
    await worker.create(ROLES, {"metadata": {"name": right}, "rules": [rule]})
    role = {"apiGroup": ROLES[0], "kind": "ClusterRole", "name": right}
    subject = {"apiGroup": ROLES[0], "kind": "Group", "name": "kubelets"}
    binding = {"metadata": {"name": right}, "roleRef": role, "subjects": [subject]}
    await worker.create(BINDINGS, binding)


async def test_kubelets_are_approved_by_their_rights(kept: Worker) -> None:
    await allow(kept, "selfnodeclient")
    await ask(kept, "for-itself", "system:node:a")
    await issued(kept, "for-itself")
    obj = await kept.get(REQUESTS, "for-itself")
    assert obj is not None
    assert obj["status"]["conditions"][0]["reason"] == "AutoApproved"
    assert "self kubelet client" in obj["status"]["conditions"][0]["message"]

    await ask(kept, "for-another", "system:node:b")
    obj = await kept.get(REQUESTS, "for-another")
    assert obj is not None and not obj.get("status", {}).get("conditions")
    await allow(kept, "nodeclient")  # it is looked at again
    await issued(kept, "for-another")


def request_with(*conditions: tuple[str, timedelta], certificate: bool = False) -> Object:
    """Ages of the conditions."""
    now = datetime.now(UTC)
    held = [{"type": t, "lastUpdateTime": format_time(now - age)} for t, age in conditions]
    status: Object = {"conditions": held}
    if certificate:
        pem = AUTHORITY.sign(1, unsigned(name("u"), lasts=3 * HOUR)).public_bytes(PEM)
        status["certificate"] = base64.b64encode(pem).decode()
    return {"metadata": {"creationTimestamp": format_time(now - 2 * HOUR)}, "status": status}


@pytest.mark.parametrize(
    ("made", "left"),
    [
        (partial(request_with), 22 * HOUR),
        (partial(request_with, ("Denied", HOUR / 2)), HOUR / 2),
        (partial(request_with, ("Approved", HOUR / 2), ("Failed", HOUR / 4)), 3 * HOUR / 4),
        (partial(request_with, ("Approved", HOUR / 2), certificate=True), HOUR / 2),
        (partial(request_with, ("Approved", HOUR / 2)), 23.5 * HOUR),
        (partial(request_with, ("Approved", -5 * HOUR), certificate=True), 3 * HOUR),
        (partial(request_with, ("Theirs", HOUR)), None),
    ],
)
def test_when_it_goes(made: Callable[[], Object], left: timedelta | None) -> None:
    when = due(made())
    if left is None:
        assert when is None
    else:
        assert when is not None
        assert abs(when - datetime.now(UTC) - left) < timedelta(minutes=10)


async def test_old_ones_go(worker: Worker, store: PostgresStore) -> None:
    cleaner = RequestCleaner(Actions(worker.registry), Relations(store.database))
    tenant = worker.tenant
    for named in ("new", "denied"):
        await worker.create(REQUESTS, csr(named, name("u"), signers.CLIENT, "client auth"))

    async def edited(obj: Object) -> Object:
        long_ago = {"lastUpdateTime": "2020-01-01T00:00:00Z"}
        condition = {"type": "Denied", "status": "True", "reason": "Test", **long_ago}
        obj.setdefault("status", {})["conditions"] = [condition]
        return obj

    scope = replace(worker.scope(REQUESTS, "denied"), subresource="approval")
    await update(worker.registry, scope, Edit(edited), Request("test"))
    assert await cleaner.missed(tenant.id) == ["all"]
    pause = await cleaner.look(tenant, "all")
    assert pause is not None and 0 < pause <= 3600
    assert await worker.get(REQUESTS, "denied") is None
    assert await worker.get(REQUESTS, "new") is not None
    await worker.delete(REQUESTS, "new")
    assert await cleaner.look(tenant, "all") is None, "nothing is left to wait for"
