"""A ClusterTrustBundle with what verifies this server's certificate, for the signer
kubernetes.io/kube-apiserver-serving (kubernetes
``pkg/controller/certificates/clustertrustbundlepublisher``).

Its name says what is in it, so a new bundle has a new name, and those of the signer that are left
over go. Where a kube-controller-manager publishes one, it stays, and this one holds its peace: the
two would otherwise delete each other's for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import orjson

from admission.plugins.certificates import BUNDLES
from apiserver.controllers import names
from apiserver.controllers.actions import MANAGER as THEIRS
from apiserver.controllers.actions import OURS, Actions
from apiserver.controllers.serviceaccounts import RESTORE
from apiserver.controllers.upkeep import Due
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.storage.relations import Relations

SIGNER = "kubernetes.io/kube-apiserver-serving"
PREFIX = SIGNER.replace("/", ":") + ":"
"""Of the names of the signer's bundles, and of no others (`apiserver.kinds.certificates.
clustertrustbundle`)."""
_PAGE = 50
_SEEDED = ObjectKey(*SERVICES, "default", "kubernetes")


class ServingTrust:
    """Looks at all bundles of the signer at once. bundle: certificates in PEM."""

    controller = names.SERVING_TRUST
    resources = frozenset({BUNDLES})

    def __init__(self, actions: Actions, relations: Relations, bundle: str) -> None:
        self._actions, self._relations, self._bundle = actions, relations, bundle
        self._due = Due()
        self._key = ObjectKey(*BUNDLES, "", name_of(bundle))

    def concerned(self, event: Event) -> tuple[str, float] | None:
        name = event.record.key.name
        own = event.type == "ADDED" and name == self._key.name
        return (SIGNER, RESTORE) if name.startswith(PREFIX) and not own else None

    def used(self, tenant: int) -> Sequence[str]:
        return [SIGNER] if self._due.now(tenant) else []

    async def look(self, tenant: Tenant, name: str) -> float | None:
        others = await self._others(tenant)
        if not any(map(_is_theirs, others)):
            await self._publish(tenant)
            for other in others:
                await self._actions.delete(tenant, other.key, other.uid)
        self._due.done(tenant.id)
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        """Of a tenant that has been seeded, which the Service shows."""
        present = await self._relations.named(tenant, [self._key, _SEEDED])
        return [SIGNER] if _SEEDED in present and self._key not in present else []

    async def _others(self, tenant: Tenant) -> Sequence[Record]:
        """As many of the signer's as are looked at together; when some go, their events lead to
        those behind them."""
        after = ("", PREFIX)
        page = await self._actions.registry.store.list(
            tenant.id, BUNDLES, namespace="", after=after, limit=_PAGE
        )
        found = [record for record in page.records if record.key.name.startswith(PREFIX)]
        return [record for record in found if record.key != self._key]

    async def _publish(self, tenant: Tenant) -> None:
        spec = {"signerName": SIGNER, "trustBundle": self._bundle}
        bundle = {"metadata": {"name": self._key.name}, "spec": spec}
        if await self._actions.ensure(tenant, self._key, bundle, OURS):
            return

        def edit(obj: Object) -> bool:
            obj["spec"] = {**(obj.get("spec") or {}), "trustBundle": self._bundle}
            return True

        await self._actions.change(tenant, self._key, edit, manager=OURS)


def name_of(bundle: str) -> str:
    return PREFIX + hashlib.sha256(bundle.encode()).hexdigest()[:24]


def _is_theirs(record: Record) -> bool:
    """Whether a kube-controller-manager has written what it trusts."""
    managers = orjson.loads(record.data)["metadata"].get("managedFields") or ()
    return any(
        entry.get("manager") == THEIRS and "f:spec" in (entry.get("fieldsV1") or {})
        for entry in managers
    )
