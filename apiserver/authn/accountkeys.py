"""AccountKeys: by which keys a tenant's service account tokens are signed, and verified.

Every tenant has keys of its own: what one tenant's API signs verifies nowhere else, neither here
nor at somebody who trusts another tenant's published keys. Keys come in generations, which belong
to the installation and are made by its operator (``manage.py rotate_keys``): the newest one that
may signs, older ones verify until the last of their tokens has ended. A generation of ES256 stores
nothing for a tenant: its keys are derived (HKDF, RFC 5869) from the installation's secret, the
generation's salt and the tenant's number. Keys of RS256 cannot be derived; they are made when a
tenant first needs one, and kept sealed by a key that comes from the installation's secret.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from zlib import crc32

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from apiserver.authn.derivedkeys import derived_secret
from apiserver.authn.signing import ES256, SigningKey, derived
from apiserver.meta.newest import Newest

FOREVER = 2**62
"""The end of tokens that do not end, in seconds since 1970."""
RSA_BITS = 2048
_DAY = 86_400
_NONCE = 12
_RINGS = 1024  # tenants


class Generation(NamedTuple):
    """signs: whether new tokens may be signed with it; lasts: until when its tokens do at most, in
    seconds since 1970."""

    number: int
    algorithm: str
    salt: bytes
    signs: bool
    lasts: int


FIRST = Generation(0, ES256, b"", True, FOREVER)
"""Where nobody has rotated keys yet."""


class KeyStore(Protocol):
    """Shared by all processes of the installation."""

    async def generations(self) -> tuple[Generation, ...]:
        """Those that verify, oldest first; at least one signs. Remembered for some seconds: as long
        as nothing changes it is the same tuple."""

    async def sealed(self, tenant: int, generation: int) -> bytes | None:
        """A key that is kept for the tenant."""

    async def keep(self, tenant: int, generation: int, sealed: bytes) -> bytes:
        """What is kept from now on, which is another process' key where that was faster."""

    async def lasts(self, generation: int, until: int) -> None:
        """A token of the generation ends then, and no later one has been noted."""


class NothingStored:
    """One generation for ever: for servers that need not understand each other's tokens."""

    async def generations(self) -> tuple[Generation, ...]:
        return _ALONE

    async def sealed(self, tenant: int, generation: int) -> bytes | None:
        return None

    async def keep(self, tenant: int, generation: int, sealed: bytes) -> bytes:
        return sealed

    async def lasts(self, generation: int, until: int) -> None:
        pass


_ALONE = (FIRST,)


@dataclass(frozen=True, slots=True)
class Ring:
    """The keys of a tenant. keys: by their ids, the one that signs first; signer: None where it has
    not been made; generation: of the signer; whole: no generation's key is lacking."""

    keys: Mapping[str, SigningKey]
    signer: SigningKey | None
    generation: Generation
    whole: bool


def nobodys_number(name: str) -> int:
    """In the place of the number of a tenant that is not there: one for each name, so that what is
    remembered of one tells nothing of another."""
    return -1 - crc32(name.encode())


class AccountKeys:
    """``secret``: of the installation; ``clock``: seconds since 1970."""

    def __init__(
        self,
        secret: bytes,
        store: KeyStore | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secret, self._store, self._clock = secret, store or NothingStored(), clock
        self._seal = AESGCM(derived_secret(secret, b"polyplane sealed account keys"))
        self._rings = Newest[int, tuple[Sequence[Generation], Ring]](_RINGS)
        self._noted: dict[int, int] = {}
        self._making = asyncio.Lock()

    async def generations(self) -> tuple[Generation, ...]:
        return await self._store.generations()

    async def ring(self, tenant: int) -> Ring:
        """By the tenant's number. What is lacking stays so."""
        generations = await self._store.generations()
        held = self._rings.get(tenant)
        if held is not None and held[0] is generations:
            self._rings.move_to_end(tenant)
            return held[1]
        ring = await self._load(tenant, generations, make=False)
        if ring.whole:
            self._remember(tenant, generations, ring)
        return ring

    async def nobodys_ring(self, name: str) -> Ring:
        """Of a tenant that is not there: to say so takes as long as to refuse a token of one that
        is."""
        return await self.ring(nobodys_number(name))

    async def whole_ring(self, tenant: int) -> Ring:
        """As `ring`, with what was lacking."""
        ring = await self.ring(tenant)
        if ring.whole:
            return ring
        async with self._making:  # one at a time: it takes a processor for a tenth of a second
            generations = await self._store.generations()
            ring = await self._load(tenant, generations, make=True)
            self._remember(tenant, generations, ring)
        return ring

    async def note(self, generation: Generation, until: int) -> None:
        """A token that the generation signs ends then. Rounded up to days, so that one write a day
        is enough."""
        if until <= max(generation.lasts, self._noted.get(generation.number, 0)):
            return
        until = FOREVER if until >= FOREVER else (until // _DAY + 2) * _DAY
        await self._store.lasts(generation.number, until)
        self._noted[generation.number] = until

    def _remember(self, tenant: int, generations: Sequence[Generation], ring: Ring) -> None:
        self._rings.keep(tenant, (generations, ring))

    async def _load(self, tenant: int, generations: Sequence[Generation], *, make: bool) -> Ring:
        signing = next(g for g in reversed(generations) if g.signs)
        others = [g for g in reversed(generations) if g is not signing]
        keys = [await self._key(tenant, g, make=make) for g in (signing, *others)]
        by_id = {key.kid: key for key in keys if key is not None}
        return Ring(by_id, keys[0], signing, len(by_id) == len(generations))

    async def _key(self, tenant: int, generation: Generation, *, make: bool) -> SigningKey | None:
        if generation.algorithm == ES256:
            return derived(self._secret, tenant, generation.salt)
        sealed = await self._store.sealed(tenant, generation.number)
        place = b"%d %d" % (tenant, generation.number)
        if sealed is None:
            if not make:
                return None
            sealed_key = self._sealed(await asyncio.to_thread(_random_key), place)
            sealed = await self._store.keep(tenant, generation.number, sealed_key)
        return SigningKey(self._opened(sealed, place))

    def _sealed(self, key: rsa.RSAPrivateKey, place: bytes) -> bytes:
        der = key.private_bytes(
            serialization.Encoding.DER,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        nonce = os.urandom(_NONCE)
        return nonce + self._seal.encrypt(nonce, der, place)

    def _opened(self, sealed: bytes, place: bytes) -> rsa.RSAPrivateKey:
        der = self._seal.decrypt(sealed[:_NONCE], sealed[_NONCE:], place)
        key = serialization.load_der_private_key(der, None)
        assert isinstance(key, rsa.RSAPrivateKey), "only such keys are kept"
        return key


def _random_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, RSA_BITS)
