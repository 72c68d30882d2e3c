"""Token secrets that were made for their account, not by anybody's hand, and that nobody has used
for a year: marked first, so that their tokens are refused, and deleted a year later (kubernetes
``pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go``)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import partial

import orjson

from apiserver.authn.legacytokens import INVALID_SINCE, LAST_USED, TYPE, day
from apiserver.controllers import names
from apiserver.controllers.accountsecrets import SECRETS, account_of, token_secret
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.rootca import CONFIG_MAPS
from apiserver.controllers.serviceaccounts import ACCOUNTS
from apiserver.controllers.upkeep import Unchanged
from apiserver.errors import ApiError
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now, parse_time
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.storage.relations import Relations

log = logging.getLogger("polyplane.controllers")

PERIOD, EVERY = timedelta(days=365), 24 * 3600.0
_PODS = GroupResource("", "pods")
_TRACKING = ObjectKey(
    *CONFIG_MAPS, "kube-system", "kube-apiserver-legacy-service-account-token-tracking"
)
_ALL = "all"


class TokenCleaner:
    """Looks at all token secrets of a tenant together, once a day as long as there are some."""

    controller = names.LEGACY_CLEANING
    resources = frozenset({SECRETS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, SECRETS)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        added = event.type == "ADDED" and TYPE.encode() in event.record.data
        return (_ALL, EVERY) if added else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        moment, some = now(), False
        mounted: dict[str, set[str]] = {}
        tracked = await self._tracked_since(tenant)
        async for record in self._actions.each(tenant.id, SECRETS):
            secret = token_secret(record)
            some = some or secret is not None
            if secret is None or tracked is None or tracked > moment - PERIOD:
                continue
            if not unused(secret, moment) or not await self._made_for_it(tenant, record, secret):
                continue
            namespace = record.key.namespace
            if namespace not in mounted:
                mounted = {namespace: await self._mounted(tenant, namespace)}
            if record.key.name not in mounted[namespace]:
                await self._clean(tenant, record, secret, moment)
        return EVERY if some else None

    async def missed(self, tenant: int) -> Sequence[str]:
        return [] if await self._unchanged.since_last(tenant) else [_ALL]

    async def _clean(
        self, tenant: Tenant, record: Record, secret: Object, moment: datetime
    ) -> None:
        marked = _day((secret["metadata"].get("labels") or {}).get(INVALID_SINCE))
        try:
            if marked is None:
                await self._actions.change(tenant, record.key, partial(_mark, record.uid, moment))
            elif marked < (moment - PERIOD).date():
                item = Item(record.key, record.uid, record.resource_version, secret["metadata"])
                await self._actions.delete_judged(tenant, item, "Background")
        except ApiError as e:  # it is in use again, or somebody minds: the others have their turn
            log.info("secret %s/%s stays: %s", record.key.namespace, record.key.name, e)

    async def _tracked_since(self, tenant: Tenant) -> datetime | None:
        """Since when every use is noted, for certain."""
        tracking = await self._actions.get(tenant, _TRACKING)
        since = _day(((tracking or {}).get("data") or {}).get("since"))
        if since is None:
            return None
        return parse_time(f"{since.isoformat()}T00:00:00Z") + timedelta(days=1)

    async def _made_for_it(self, tenant: Tenant, record: Record, secret: Object) -> bool:
        """Whether the account names the secret."""
        key = ObjectKey(*ACCOUNTS, record.key.namespace, account_of(secret))
        account = await self._actions.get(tenant, key)
        listed = {ref.get("name") for ref in (account or {}).get("secrets") or ()}
        return record.key.name in listed

    async def _mounted(self, tenant: Tenant, namespace: str) -> set[str]:
        """The secrets that pods of the namespace mount."""
        secrets: set[str] = set()
        async for record in self._actions.each(tenant.id, _PODS, namespace):
            volumes = (orjson.loads(record.data).get("spec") or {}).get("volumes") or ()
            secrets |= {(volume.get("secret") or {}).get("secretName", "") for volume in volumes}
        return secrets


def unused(secret: Object, moment: datetime) -> bool:
    """Whether it is there for a year, and was used in none of its days. A day that is none tells
    nothing."""
    metadata = secret["metadata"]
    if metadata.get("deletionTimestamp"):
        return False
    if parse_time(metadata["creationTimestamp"]) >= moment - PERIOD:
        return False
    used = (metadata.get("labels") or {}).get(LAST_USED)
    if used is None:
        return True
    last = _day(used)
    return last is not None and last < (moment - PERIOD).date()


def _mark(uid: str, moment: datetime, secret: Object) -> bool:
    metadata = secret["metadata"]
    if metadata.get("uid") != uid or not unused(secret, moment):
        return False
    metadata["labels"] = {**(metadata.get("labels") or {}), INVALID_SINCE: day(moment)}
    return True


def _day(text: str | None) -> date | None:
    try:
        return datetime.strptime(text or "", "%Y-%m-%d").date()
    except ValueError:
        return None
