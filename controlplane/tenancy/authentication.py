"""Whose tokens a tenant accepts beside its own and the installation's: kept as the document that
somebody gave, and read by the workers within seconds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from apiserver.authn import claimrules, configuration
from apiserver.authn.configuration import Configuration, ConfigurationError
from apiserver.authn.oidc import Issuers, issuers
from apiserver.authn.providers import Fetch
from apiserver.meta.newest import Newest
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.errors import OperatorError
from controlplane.tenancy.models import Authentication, Tenant

log = logging.getLogger("polyplane.authn")

LARGEST = 256 * 1024
_TENANTS = 512
_NONE = Issuers()


def read(document: str, disallowed: Collection[str]) -> Configuration:
    """``disallowed``: issuers of this installation. Raises ConfigurationError."""
    if len(document) > LARGEST:
        raise ConfigurationError(f"it has more than {LARGEST} characters")
    found = configuration.read(document.encode())
    if found.anonymous is not None:
        raise ConfigurationError("anonymous is the installation's, and not a tenant's")
    claimrules.check(found, disallowed)
    return found


def check(document: str, disallowed: Collection[str]) -> None:
    """Raises OperatorError."""
    try:
        read(document, disallowed)
    except ConfigurationError as e:
        raise OperatorError(
            f"That is no AuthenticationConfiguration for a tenant: {e}.", "correct the file."
        ) from None


def set_document(tenant: Tenant, document: str, disallowed: Collection[str]) -> None:
    """An empty one takes it away. Raises OperatorError."""
    if document:
        check(document, disallowed)
    with django_within(tenant.pk):
        if document:
            Authentication.objects.update_or_create(tenant=tenant, defaults={"document": document})
        else:
            Authentication.objects.filter(tenant=tenant).delete()


def documents() -> dict[int, str]:
    """Of all tenants that have one, by their numbers."""
    with django_everywhere():
        return dict(Authentication.objects.values_list("tenant_id", "document"))


def document_of(tenant: Tenant) -> str:
    """An empty one where it has none."""
    with django_within(tenant.pk):
        held = Authentication.objects.filter(tenant=tenant).first()
    return held.document if held is not None else ""


def issuers_in(document: str) -> list[str]:
    """URLs of those that the document names."""
    try:
        return [jwt.issuer.url for jwt in configuration.read(document.encode()).jwt]
    except ConfigurationError:
        return []


class OwnIssuers:
    """What tenants trust, by number. document: of a tenant, "" for none; disallowed: issuers of
    this installation."""

    def __init__(
        self,
        document: Callable[[int], Awaitable[str]],
        fetch: Fetch,
        disallowed: Collection[str],
    ) -> None:
        self._document, self._fetch, self._disallowed = document, fetch, disallowed
        self._held = Newest[int, tuple[str, Issuers]](_TENANTS)
        self._reading = asyncio.Lock()

    async def of(self, tenant: int) -> Issuers:
        document = await self._document(tenant)
        if not document and tenant not in self._held:
            return _NONE
        held = self._held.get(tenant)
        if held is not None and held[0] == document:
            self._held.move_to_end(tenant)
            return held[1]
        async with self._reading:
            issuers_of_tenant = await self._made(tenant, document)
        if (gone := self._held.keep(tenant, (document, issuers_of_tenant))) is not None:
            gone[1].close()
        return issuers_of_tenant

    async def _made(self, tenant: int, document: str) -> Issuers:
        held = self._held.get(tenant)
        if held is not None and held[0] == document:
            return held[1]  # somebody else has been here meanwhile
        before = held[1] if held is not None else None
        jwts: Collection[configuration.Jwt] = ()
        if document:
            try:
                jwts = (await asyncio.to_thread(read, document, self._disallowed)).jwt
            except ConfigurationError as e:  # of another release
                log.error("the tenant's authentication is not read: tenant=%d: %s", tenant, e)
        return issuers(tuple(jwts), self._fetch, everywhere=False, before=before)

    def close(self) -> None:
        for _, held in self._held.values():
            held.close()
