"""Every namespace has a service account "default" (kubernetes ``pkg/controller/serviceaccount``)."""

from __future__ import annotations

from apiserver.controllers.actions import Actions
from apiserver.errors import AlreadyExists, Forbidden, NotFound
from apiserver.registry.create import create
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey

NAME = "default"


async def ensure_default(actions: Actions, tenant: Tenant, namespace: str) -> None:
    """Creates the account unless it is there, or the namespace is gone or going."""
    scope = actions.scope(tenant, ObjectKey("", "serviceaccounts", namespace, NAME))
    assert scope is not None, "service accounts are built in"
    obj, _ = scope.decode({"metadata": {"name": NAME, "namespace": namespace}})
    try:
        await create(actions.registry, scope, obj, dry_run=False, manager="kube-controller-manager")
    except (AlreadyExists, Forbidden, NotFound):
        return
