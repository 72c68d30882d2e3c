"""External: tokens that neither this server nor its operator has made. Bootstrap tokens come from
Secrets of the tenant, the others from OpenID providers and from a webhook.

Tried in kube-apiserver's order; what refuses a token does not keep the next from knowing it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from apiserver.authn import bootstraptokens
from apiserver.authn.accountclaims import Refused
from apiserver.authn.configuration import Anonymous
from apiserver.authn.oidc import Issuers, OidcTokens
from apiserver.authn.providers import Unreachable
from apiserver.authn.serviceaccounts import Authenticated, Reader
from apiserver.authn.tokenwebhook import TokenWebhook
from apiserver.meta.gvk import GroupResource
from apiserver.meta.newest import Newest
from apiserver.storage.errors import TenantGone
from apiserver.user import User

_SECRETS = GroupResource("", "secrets")
_REMEMBERED = 2.0
_MOST = 4096


async def _nothing(tenant: int) -> Issuers:
    return _NO_ISSUERS


_NO_ISSUERS = Issuers()


class BootstrapTokens:
    """What a Secret says is remembered for two seconds: whoever makes tokens up costs no more than
    one with a wrong token of any other kind. clock: monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._users = Newest[tuple[int, bytes], tuple[float, User | None]](_MOST)

    async def user(self, tenant: int, token: str, reader: Callable[[], Reader]) -> User | None:
        name = bootstraptokens.secret_name(token)
        if not name:
            return None
        place = tenant, hashlib.sha256(token.encode()).digest()
        remembered = self._users.get(place)
        if remembered is not None and self._clock() < remembered[0]:
            return remembered[1]
        try:
            secret = await reader().get(_SECRETS, bootstraptokens.NAMESPACE, name, fresh=True)
        except TenantGone:  # as for one that is there, and has no such secret
            secret = None
        user = None if secret is None else bootstraptokens.user(token, secret, datetime.now(UTC))
        self._users.keep(place, (self._clock() + _REMEMBERED, user))
        return user


@dataclass(slots=True)
class External:
    """bootstrap, webhook: None where the operator has not turned them on; anonymous: who may come
    without a credential; config_problem: why the configuration is still the one before, or ""."""

    oidc: OidcTokens = field(default_factory=lambda: OidcTokens(_nothing))
    bootstrap: BootstrapTokens | None = None
    webhook: TokenWebhook | None = None
    anonymous: Anonymous = field(default_factory=Anonymous)
    config_problem: str = ""

    def health(self) -> Iterator[tuple[str, str]]:
        """What the installation has configured, by name, and what is wrong with it, or ""."""
        issuers = self.oidc.installation.by_url
        if issuers or self.config_problem:
            yield "authentication/config", self.config_problem
        for i, authenticator in enumerate(issuers.values()):
            yield f"authentication/jwt-{i}", authenticator.provider.problem
        if self.webhook is not None:
            yield "authentication/webhook", self.webhook.problem

    async def identify(
        self,
        tenant: int,
        token: str,
        audiences: Sequence[str],
        own: str,
        reader: Callable[[], Reader],
    ) -> Authenticated | None:
        """``own``: the audience of the tenant's API, which is the one that tokens without a word
        about it are for; ``reader``: of the tenant. Raises Refused, Unreachable."""
        refusals = list[Refused]()
        if own in audiences:
            user = None
            if self.bootstrap is not None:
                user = await self.bootstrap.user(tenant, token, reader)
            try:
                user = user or await self.oidc.user(tenant, token)
            except Refused as e:
                refusals.append(e)
            if user is not None:
                return Authenticated(user, (own,))
        if self.webhook is not None:
            try:
                reviewed = await self.webhook.review(tenant, token, audiences, (own,))
                if reviewed is not None:
                    return Authenticated(*reviewed)
            except Refused as e:
                refusals.append(e)
        together(refusals)
        return None


def together(refusals: Sequence[Refused]) -> None:
    """Raises what several have said, as one; an `Unreachable` among them counts as one: somebody
    could not be asked."""
    if not refusals:
        return
    if len(refusals) == 1:
        raise refusals[0]
    doubtful = any(refusal.doubtful for refusal in refusals)
    notes = {name: text for refusal in refusals for name, text in refusal.notes.items()}
    raise (Unreachable if doubtful else Refused)(", ".join(map(str, refusals)), notes)
