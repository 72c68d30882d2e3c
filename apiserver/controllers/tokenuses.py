"""The day on which the token of a secret was last used, in a label of the secret (kubernetes
``pkg/serviceaccount/legacy.go``): who wants to be rid of such tokens sees which are needed.

Noted beside the request, which does not wait for it; a note that fails, or that there are too many
at once for, is made by a later use.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict

from apiserver.authn.legacytokens import LAST_USED, TYPE, day, to_note
from apiserver.controllers.accountsecrets import SECRETS
from apiserver.controllers.actions import Actions
from apiserver.errors import ApiError
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import ObjectKey

log = logging.getLogger("polyplane.controllers")

AT_ONCE, AT_ONCE_OF_ONE = 256, 8
"""Notes under way in a process, and of one tenant: its webhooks may take long to let one be
made."""
AGAIN = 60.0
"""Seconds until another try for the same secret."""
_MOST_FAILED = 4096
"""Secrets that are left alone so long."""
_MANAGER = "kube-apiserver"
_Which = tuple[int, str, str]


class TokenUses:
    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._noting: dict[_Which, asyncio.Task[None]] = {}
        self._of: Counter[int] = Counter()
        self._failed: OrderedDict[_Which, float] = OrderedDict()

    def used(self, tenant: Tenant, namespace: str, secret: str) -> None:
        """Returns at once."""
        which = (tenant.id, namespace, secret)
        full = len(self._noting) >= AT_ONCE or self._of[tenant.id] >= AT_ONCE_OF_ONE
        if which in self._noting or full or self._failed_lately(which):
            return
        self._of[tenant.id] += 1
        self._noting[which] = asyncio.create_task(self._note(tenant, namespace, secret))
        self._noting[which].add_done_callback(lambda _: self._noted(which))

    async def stop(self) -> None:
        tasks = list(self._noting.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _noted(self, which: _Which) -> None:
        del self._noting[which]
        self._of[which[0]] -= 1
        if not self._of[which[0]]:
            del self._of[which[0]]

    def _failed_lately(self, which: _Which) -> bool:
        if self._failed.get(which, 0.0) > asyncio.get_running_loop().time():
            return True
        self._failed.pop(which, None)
        return False

    async def _note(self, tenant: Tenant, namespace: str, secret: str) -> None:
        key = ObjectKey(*SECRETS, namespace, secret)
        try:
            await self._actions.change(tenant, key, _mark, manager=_MANAGER)
        except (ApiError, StorageError) as e:
            log.info("the use of a token of secret %s/%s is not noted: %s", namespace, secret, e)
        except Exception:
            log.exception("the use of a token of secret %s/%s is not noted", namespace, secret)
        else:
            return
        self._failed[tenant.id, namespace, secret] = asyncio.get_running_loop().time() + AGAIN
        if len(self._failed) > _MOST_FAILED:
            self._failed.popitem(last=False)


def _mark(secret: Object) -> bool:
    moment = now()
    if secret.get("type") != TYPE or not to_note(secret, moment):
        return False
    metadata = secret["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), LAST_USED: day(moment)}
    return True
