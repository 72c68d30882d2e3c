"""extension-apiserver-authentication: there with kube-system, put right, and left alone."""

from __future__ import annotations

from typing import Any

import orjson
from cryptography import x509

from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.frontproxy import NAME as CLIENT
from apiserver.authn.frontproxy import FrontProxy
from apiserver.controllers.actions import Actions
from apiserver.controllers.frontproxyca import NAME, NAMESPACE, FrontProxyAuthority, blocks
from apiserver.controllers.rootca import CONFIG_MAPS
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.clientcertificates import Authority
from tests.support.definitionworker import Worker

KEY = ObjectKey(*CONFIG_MAPS, NAMESPACE, NAME)
FRONT, CLIENTS = FrontProxy(b"secret"), ClientAuthority(b"secret")
INSTALLATION, THEIRS = Authority("installation"), Authority("theirs")


async def test_it_says_who_comes_and_is_put_right(
    worker: Worker, store: PostgresStore, tenant: int
) -> None:
    there, actions = Tenant(tenant, "default"), Actions(worker.registry)
    keeper = FrontProxyAuthority(
        actions, Relations(store.database), FRONT, CLIENTS, INSTALLATION.pem
    )
    namespace = ObjectKey(*GroupResource("", "namespaces"), "", NAMESPACE)
    await actions.ensure(there, namespace, {"metadata": {"name": NAMESPACE}})
    assert await keeper.missed(tenant) == [NAMESPACE]

    async def data() -> Any:
        await keeper.look(there, NAMESPACE)
        obj = await actions.get(there, KEY)
        assert obj is not None
        return obj["metadata"]["resourceVersion"], obj["data"]

    version, first = await data()
    assert orjson.loads(first["requestheader-allowed-names"]) == [CLIENT]
    assert orjson.loads(first["requestheader-username-headers"]) == ["X-Remote-User"]
    authority = x509.load_pem_x509_certificate(first["requestheader-client-ca-file"].encode())
    certificate = x509.load_pem_x509_certificate(FRONT.identity(tenant).certificate)
    certificate.verify_directly_issued_by(authority)
    own, of_all = blocks(first["client-ca-file"])
    assert CLIENTS.is_certificate(tenant, own)
    assert of_all == INSTALLATION.pem
    assert await data() == (version, first), "another signature is no other authority"
    assert await keeper.missed(tenant) == []

    def spoil(obj: Any) -> bool:
        obj["data"] = {"requestheader-client-ca-file": "x", "client-ca-file": THEIRS.pem}
        return True

    await actions.change(there, KEY, spoil)
    _, after = await data()
    added, own, of_all = blocks(after["client-ca-file"])
    assert (added, of_all) == (THEIRS.pem, INSTALLATION.pem)
    assert CLIENTS.is_certificate(tenant, own)
    assert after["requestheader-allowed-names"] == first["requestheader-allowed-names"]
    assert FRONT.is_authority(tenant, after["requestheader-client-ca-file"])


async def test_a_restart_with_another_authority_adds_it_and_drops_what_has_expired(
    worker: Worker, store: PostgresStore, tenant: int
) -> None:
    there, actions = Tenant(tenant, "default"), Actions(worker.registry)
    namespace = ObjectKey(*GroupResource("", "namespaces"), "", NAMESPACE)
    await actions.ensure(there, namespace, {"metadata": {"name": NAMESPACE}})

    async def started_with(authority: Authority) -> list[str]:
        keeper = FrontProxyAuthority(
            actions, Relations(store.database), FRONT, CLIENTS, authority.pem
        )
        for name in keeper.used(tenant):
            await keeper.look(there, name)
        assert keeper.used(tenant) == [], "once for each process"
        obj = await actions.get(there, KEY)
        assert obj is not None
        own, *others = blocks(obj["data"]["client-ca-file"])
        assert CLIENTS.is_certificate(tenant, own)
        return others

    old = Authority("old", days=-1)
    assert await started_with(INSTALLATION) == [INSTALLATION.pem]
    assert await started_with(THEIRS) == [INSTALLATION.pem, THEIRS.pem]

    def add(obj: Any) -> bool:
        obj["data"]["client-ca-file"] += old.pem
        return True

    await actions.change(there, KEY, add)
    assert await started_with(old) == [INSTALLATION.pem, THEIRS.pem]


class Read(str):
    """Counts the characters that are looked at."""

    looked = 0

    def find(self, text: str, start: Any = None, end: Any = None) -> int:
        found = super().find(text, start, end)
        Read.looked += (found if found >= 0 else len(self)) - (start or 0)
        return found

    def rfind(self, text: str, start: Any = None, end: Any = None) -> int:
        found = super().rfind(text, start, end)
        Read.looked += (end or len(self)) - max(found, start or 0)
        return found


def test_a_bundle_is_read_in_time_by_its_length() -> None:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    whole = f"{begin}\nb\n{end}\n"
    assert blocks(f"x{begin}\na\n{whole}y\n{end}\n{whole}") == [whole, whole]
    for bundle in (Read(begin * 1000), Read(end * 1000), Read(begin * 1000 + whole * 1000)):
        Read.looked = 0
        blocks(bundle)
        assert Read.looked <= 4 * len(bundle)
