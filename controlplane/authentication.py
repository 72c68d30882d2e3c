"""Who else may say who somebody is, kept up to date in each process: OpenID providers, a webhook,
bootstrap tokens (`controlplane.identityfiles` reads the files)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from urllib.parse import urlsplit

from h11 import LocalProtocolError

from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.connection import Answer, Connection, Gone
from admission.webhooks.dialing import Dialer, why_failed
from admission.webhooks.errors import CallFailed
from admission.webhooks.tls import Contexts
from apiserver.authn import counts
from apiserver.authn.configuration import Anonymous, Configuration
from apiserver.authn.external import BootstrapTokens, External
from apiserver.authn.oidc import OidcTokens, issuers
from apiserver.authn.providers import FetchError
from controlplane import authorization, environment, identityfiles
from controlplane.errors import OperatorError
from controlplane.tenancy.authentication import OwnIssuers
from controlplane.tenancy.directory import Directory

log = logging.getLogger("polyplane.authn")

LOOK_EVERY = 5.0
"""Seconds between two looks at the file, and between two tries to reach a provider that has never
answered."""
_FETCH_SECONDS, _FETCH_BYTES = 10.0, 512 * 1024
Headers = list[tuple[str, str]]
_NOBODY = (
    f"POLYPLANE_{authorization.MODE} has AlwaysAllow: requests without a credential are refused,"
    " unless the authentication configuration lets them in"
)
_GLOBAL = 0
"""Whose turn a look-up is that is no tenant's."""


class Documents:
    """Reads what providers publish, at addresses that may be called; redirects are not
    followed."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._dialer, self._contexts = Dialer(policy, "identity providers"), Contexts()

    def close(self) -> None:
        self._dialer.close()

    async def fetch(self, url: str, ca: str, token: str = "") -> bytes:
        """The contract is `apiserver.authn.providers.Fetch`."""
        headers = [("Authorization", f"Bearer {token}")] if token else []
        answer = await self._ask("Get", url, ca, headers, b"")
        if answer.status != 200:
            raise FetchError(f'Get "{url}": the provider answered {answer.status}')
        return answer.body

    async def post(self, url: str, ca: str, headers: Headers, body: bytes) -> Answer:
        """Whatever the answer's status is; bounded as `fetch` is. Raises FetchError."""
        return await self._ask(
            "Post", url, ca, [*headers, ("Content-Length", str(len(body)))], body
        )

    async def _ask(self, verb: str, url: str, ca: str, headers: Headers, body: bytes) -> Answer:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or 443
        except ValueError as e:
            raise FetchError(f'{verb} "{url}": {e}') from None
        if parts.scheme != "https" or not host:
            raise FetchError(f'{verb} "{url}": it is no https URL')
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = [("Host", parts.netloc.rpartition("@")[2]), ("Connection", "close")]
        sent += [("Accept", "application/json"), ("User-Agent", "polyplane"), *headers]
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                context = await self._contexts.of(_GLOBAL, ca.encode())
                connection = Connection(
                    *await self._dialer.dial(_GLOBAL, host, port, context, host)
                )
                try:
                    return await connection.post(path, sent, body, _FETCH_BYTES, verb.upper())
                finally:
                    connection.abort()
        except (TimeoutError, Gone, OSError, CallFailed, LocalProtocolError) as error:
            raise FetchError(f'{verb} "{url}": {why_failed(error)}') from None


class Identities:
    """What of identities a process has, and keeps up to date. disallowed: issuers of this
    installation."""

    def __init__(
        self, directory: Directory, policy: AddressPolicy, disallowed: Collection[str]
    ) -> None:
        self.directory, self._disallowed = directory, disallowed
        self._documents = Documents(policy)
        self._own = OwnIssuers(directory.authentication, self._documents.fetch, disallowed)
        self._unsaid = Anonymous(enabled=not authorization.allows_everybody())
        self.external = External(
            OidcTokens(self._own.of),
            BootstrapTokens() if environment.flag("BOOTSTRAP_TOKEN_AUTH") else None,
            identityfiles.webhook(),
            self._unsaid,
        )
        self._path = environment.text(identityfiles.FILE)
        self._seen: object = None
        self._following: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Inside the loop. Raises OperatorError for a file that cannot be used."""
        if not self._unsaid.enabled:
            log.warning("%s", _NOBODY)
        if not self._path:
            return
        self._seen = identityfiles.stamp(self._path)
        self._install(identityfiles.read(self._disallowed))
        self._following = asyncio.create_task(self._follow())

    def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
        self.external.oidc.installation.close()
        self._own.close()
        self._documents.close()

    async def _follow(self) -> None:
        while True:
            held = self.external.oidc.installation.by_url.values()
            lacking = [a.provider.refresh() for a in held if not a.provider.ready]
            await asyncio.gather(asyncio.sleep(LOOK_EVERY), *lacking)
            stamp = await asyncio.to_thread(identityfiles.stamp, self._path)
            if stamp != self._seen:
                self._seen = stamp
                await self._reload()

    async def _reload(self) -> None:
        """A file that cannot be used leaves everything as it was."""
        try:
            self._install(await asyncio.to_thread(identityfiles.read, self._disallowed))
        except OperatorError as e:
            counts.reloaded("failure")
            self.external.config_problem = str(e)
            log.error("the authentication configuration is not read anew: %s", e)
        else:
            counts.reloaded("success")
            self.external.config_problem = ""
            log.info("the authentication configuration was read anew")

    def _install(self, configuration: Configuration) -> None:
        oidc, fetch = self.external.oidc, self._documents.fetch
        before = oidc.installation
        oidc.install(issuers(configuration.jwt, fetch, everywhere=True, before=before))
        self.external.anonymous = configuration.anonymous or self._unsaid
