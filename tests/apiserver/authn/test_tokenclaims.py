"""Claims of ID tokens as Go reads them, and as expressions see them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authn import tokenclaims
from apiserver.authn.accountclaims import Refused
from apiserver.authn.claimrules import ClaimRules
from apiserver.authn.tokenclaims import UnmarshalError
from apiserver.cel.syntax.escaping import escape, unescape
from tests.apiserver.authn.test_configuration import but, read

STRING = "into Go struct field idToken.{} of type string"
NUMBER = "into Go struct field idToken.{} of type json.Number"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"sub": 1}, f"json: cannot unmarshal number {STRING.format('sub')}"),
        ({"nonce": [], "sub": 1}, f"json: cannot unmarshal array {STRING.format('nonce')}"),
        ({"sub": 1, "exp": True}, f"json: cannot unmarshal bool {NUMBER.format('exp')}"),
        ({"exp": "soon"}, r'json: invalid number literal, trying to unmarshal "\"soon\"" into Num'),
        ({"exp": "0x1"}, "json: invalid number literal"),
        ({"exp": "9" * 5000}, "json: invalid number literal"),
        ({"iat": None}, 'strconv.ParseFloat: parsing "": invalid syntax'),
        ({"nbf": {}}, f"json: cannot unmarshal object {NUMBER.format('nbf')}"),
        ({"aud": 1}, "number into Go struct field idToken.aud of type []string"),
        ({"aud": ["a", 1]}, f"number {STRING.format('aud')}"),
    ],
)
def test_what_go_does_not_read(claims: dict[str, Any], why: str) -> None:
    with pytest.raises(UnmarshalError) as e:
        tokenclaims.check_registered(claims)
    assert str(e.value).startswith("failed to unmarshal claims: ") and why in str(e.value)


def test_what_go_reads() -> None:
    tokenclaims.check_registered(
        {
            "sub": None,
            "nonce": None,
            "nbf": None,
            "aud": None,
            "exp": "12",
            "iat": 1.5,
            "_claim_names": None,
            "_claim_sources": {"s": None},
            "azp": 1,
            "acr": [],
        }
    )
    times = {"12": 12, "1.5e1": 15, "-0": 0, 12.9: 12, -3: -3}
    assert [tokenclaims.seconds(value, "exp") for value in times] == list(times.values())
    assert tokenclaims.seconds(10**30, "exp") == -(2**63), "as int64 of what does not fit"
    assert tokenclaims.audiences(["a", None]) == ["a", ""]
    assert tokenclaims.audiences(None) == [""]


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P"])))
def test_what_is_escaped_comes_back(name: str) -> None:
    escaped = escape(name)
    assert escaped is None or unescape(escaped) == name


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("a__dot__b__slash__c__dash__d", "a.b/c-d"),
        ("__namespace__", "namespace"),
        ("a__namespace__", None),
        ("a__x__", None),
        ("a__b", "a__b"),
        ("__underscores__x", "__x"),
    ],
)
def test_names_of_identifiers(identifier: str, name: str | None) -> None:
    assert unescape(identifier) == name


@pytest.mark.parametrize(
    ("expression", "uid"),
    [
        ("claims.kubernetes__dot__io.service__dash__account", "robot"),
        ("claims['kubernetes.io']['service-account']", "robot"),
        ("claims.list[0].a__slash__b", "c"),
        ("has(claims.kubernetes__dot__io) ? 'has' : 'not'", "has"),
        ("has(claims.list[0].a__slash__c) ? 'has' : 'not'", "not"),
        ("claims.?kubernetes__dot__io.?x__dot__y.orValue('none')", "none"),
        ("claims.kubernetes__dot__io.__x__", "as it stands"),
        ("claims.?__x__.orValue('no name')", "no name"),
    ],
)
def test_claims_by_identifiers(expression: str, uid: str) -> None:
    claims = {
        "sub": "a",
        "__x__": "without a name",
        "kubernetes.io": {"service-account": "robot", "__x__": "as it stands"},
        "list": [{"a/b": "c"}],
    }
    jwt = read(but(maps_uid={"expression": expression})).jwt[0]
    assert ClaimRules(jwt, everywhere=False).user(claims).uid == uid


def test_a_users_extra_by_identifiers() -> None:
    changes = {
        "maps_extra": [{"key": "example.com/a", "valueExpression": "claims.sub"}],
        "userValidationRules": [{"expression": "user.extra.example__dot__com__slash__a == ['me']"}],
    }
    rules = ClaimRules(read(but(**changes)).jwt[0], everywhere=False)
    assert rules.user({"sub": "me"}).name == "me"
    with pytest.raises(Refused, match="failed"):
        rules.user({"sub": "you"})
