"""The day on which the token of a secret was last used, in a label of the secret (kubernetes
``pkg/serviceaccount/legacy.go``): who wants to be rid of such tokens sees which are needed.

Noted beside the request, which does not wait for it; a note that fails, or that there are too many
at once for, is made by a later use.
"""

from __future__ import annotations

import asyncio
import logging

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

AT_ONCE = 64
AGAIN = 60.0
"""Seconds until another try for the same secret."""
_MANAGER = "kube-apiserver"


class TokenUses:
    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._noted: dict[tuple[int, str, str], asyncio.Task[None]] = {}

    def used(self, tenant: Tenant, namespace: str, secret: str) -> None:
        """Returns at once."""
        which = (tenant.id, namespace, secret)
        if which not in self._noted and len(self._noted) < AT_ONCE:
            task = asyncio.create_task(self._note(tenant, namespace, secret))
            self._noted[which] = task

    async def stop(self) -> None:
        tasks = list(self._noted.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _note(self, tenant: Tenant, namespace: str, secret: str) -> None:
        key = ObjectKey(*SECRETS, namespace, secret)
        pause = 0.0
        try:
            await self._actions.change(tenant, key, _mark, manager=_MANAGER)
        except (ApiError, StorageError) as e:
            log.info("the use of a token of secret %s/%s is not noted: %s", namespace, secret, e)
            pause = AGAIN
        except Exception:
            log.exception("the use of a token of secret %s/%s is not noted", namespace, secret)
            pause = AGAIN
        asyncio.get_running_loop().call_later(
            pause, self._noted.pop, (tenant.id, namespace, secret), None
        )


def _mark(secret: Object) -> bool:
    moment = now()
    if secret.get("type") != TYPE or not to_note(secret, moment):
        return False
    metadata = secret["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), LAST_USED: day(moment)}
    return True
