"""Keys of tenants: what they sign is a JWT by the RFCs, and nothing else verifies, whatever a
client makes of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authn.jose import Unsigned, parse
from apiserver.authn.signing import SigningKey, derived

SECRET = b"a secret of the installation"
KEY = derived(SECRET, 7)
TOKEN = KEY.sign({"sub": "somebody", "iss": "https://issuer"})


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def token(header: Any, payload: Any, signature: bytes) -> str:
    return ".".join(
        (
            encoded(json.dumps(header).encode()),
            encoded(json.dumps(payload).encode()),
            encoded(signature),
        )
    )


def good(text: str, key: SigningKey = KEY) -> bool:
    found = parse(text)
    return found is not None and key.verifies(found)


def public_key(jwk: dict[str, str]) -> ec.EllipticCurvePublicKey:
    x, y = (int.from_bytes(decoded(jwk[name])) for name in "xy")
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def test_relying_parties_verify_with_the_published_key_alone() -> None:
    jwk = KEY.jwk()
    assert {name: jwk[name] for name in ("kty", "crv", "alg", "use")} == {
        "kty": "EC",
        "crv": "P-256",
        "alg": "ES256",
        "use": "sig",
    }
    header, payload, signature = TOKEN.split(".")
    assert json.loads(decoded(header)) == {"alg": "ES256", "kid": jwk["kid"]}
    assert json.loads(decoded(payload)) == {"sub": "somebody", "iss": "https://issuer"}
    raw = decoded(signature)
    assert len(raw) == 64
    der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    public_key(jwk).verify(der, f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))


def test_the_key_id_is_a_hash_of_the_public_key() -> None:
    spki = public_key(KEY.jwk()).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert KEY.kid == encoded(hashlib.sha256(spki).digest())


def test_the_same_secret_makes_the_same_key_and_every_tenant_has_its_own() -> None:
    assert good(TOKEN) and good(TOKEN, derived(SECRET, 7))
    others = [derived(SECRET, 8), derived(SECRET, 70), derived(b"another secret", 7)]
    assert not any(good(TOKEN, other) for other in others)
    assert len({KEY.kid, *(other.kid for other in others)}) == 4


def test_a_key_derived_is_the_same_in_every_release() -> None:
    assert derived(b"fixed", 1).kid == "W2DXyFmgFA4ssd-VZgFZEmk8LyjXx1JvNEzB9oFvyE8"


PUBLIC = public_key(KEY.jwk()).public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def hs256(header: Any, payload: Any, secret: bytes) -> str:
    unsigned = token(header, payload, b"x").rpartition(".")[0]
    return f"{unsigned}.{encoded(hmac.digest(secret, unsigned.encode(), 'sha256'))}"


def signed(header: Any, payload: Any) -> str:
    """With the right key, whatever the header says."""
    unsigned = token(header, payload, b"x").rpartition(".")[0]
    r, s = decode_dss_signature(KEY._private.sign(unsigned.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{unsigned}.{encoded(r.to_bytes(32) + s.to_bytes(32))}"


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "HS256", "RS256", "ES384", "es256", "", None, 1, ["ES256"]]
)
def test_a_token_does_not_choose_its_algorithm(algorithm: Any) -> None:
    header, payload = {"alg": algorithm, "kid": KEY.kid}, {"sub": "somebody"}
    assert good(signed({**header, "alg": "ES256"}, payload))
    assert not good(signed(header, payload))
    for secret in (PUBLIC, SECRET, KEY.kid.encode(), b""):
        assert not good(hs256(header, payload, secret)) and not good(
            hs256({**header, "alg": "ES256"}, payload, secret)
        )
    for signature in (
        b"",
        b"\0" * 64,
        b"\xff" * 64,
        b"\0" * 63 + b"\1",
        decoded(TOKEN.rpartition(".")[2]),
    ):
        assert not good(token(header, payload, signature))


def test_headers_that_must_be_understood_are_not() -> None:
    assert not good(signed({"alg": "ES256", "kid": KEY.kid, "crit": ["b64"], "b64": False}, {}))


def test_tokens_come_in_compact_form_only() -> None:
    header, payload, signature = TOKEN.split(".")
    assert parse(TOKEN) is not None
    longer = TOKEN + "."
    for text in (
        "",
        ".",
        "..",
        "a.b.c",
        longer,
        f" {TOKEN}",
        f"{TOKEN}\n",
        f"{header}.{payload}",
        f"{header}.{payload}.",
        f".{payload}.{signature}",
        f"{header}.{payload}.{signature}.x.y",
        f"{header}=.{payload}.{signature}",
        f"{header}.{payload}.{signature}==",
        f"{header}.{payload}.{signature}é",
        "{" + TOKEN + "}",
    ):
        assert parse(text) is None, text
    for whole in ("[]", "null", "1", '"x"', "{", "[" * 100_000):
        assert parse(f"{encoded(whole.encode())}.{payload}.{signature}") is None
        assert parse(f"{header}.{encoded(whole.encode())}.{signature}") is None


@given(st.integers(0, len(TOKEN) - 1), st.characters(codec="utf-8"))
def test_no_character_can_be_another(at: int, character: str) -> None:
    changed = TOKEN[:at] + character + TOKEN[at + 1 :]
    found = parse(changed)
    if found is not None and KEY.verifies(
        found
    ):  # the last character of a part has bits that mean nothing
        assert found == parse(TOKEN)


@given(st.text() | st.from_regex(r"[\w-]*\.[\w-]*\.[\w-]*", fullmatch=True))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert not good(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
)


@given(
    st.dictionaries(st.sampled_from(["alg", "kid", "crit", "x"]), json_values),
    st.binary(max_size=80),
)
def test_nobody_guesses_a_signature(header: dict[str, Any], signature: bytes) -> None:
    text = token(header, {}, signature)
    assert not good(text) and not KEY.verifies(Unsigned(header, {}, text))
