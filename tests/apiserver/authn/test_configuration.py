"""AuthenticationConfiguration: what is wrong with one, in kube-apiserver's words."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authn import claimrules, configuration
from apiserver.authn.accountclaims import Refused
from apiserver.authn.claimrules import ClaimRules
from apiserver.authn.configuration import Anonymous, ConfigurationError, Jwt
from apiserver.user import User
from tests.support.clientcertificates import Authority

URL, OURS = "https://issuer.example.com", "https://kubernetes.default.svc"
GOOD: dict[str, Any] = {
    "issuer": {"url": URL, "audiences": ["me"]},
    "claimMappings": {"username": {"claim": "sub", "prefix": ""}},
}


def document(*jwts: Any, **more: Any) -> bytes:
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    return yaml.safe_dump({**kind, "jwt": list(jwts), **more}).encode()


def read(*jwts: Any, **more: Any) -> configuration.Configuration:
    found = configuration.read(document(*jwts, **more))
    claimrules.check(found, [OURS])
    return found


def but(**changes: Any) -> dict[str, Any]:
    """GOOD with members of its parts changed: ``issuer_url``, ``maps_groups``, ``rules``..."""
    issuer, maps = dict(GOOD["issuer"]), dict(GOOD["claimMappings"])
    found: dict[str, Any] = {"issuer": issuer, "claimMappings": maps}
    for name, value in changes.items():
        part, _, member = name.partition("_")
        place = {"issuer": issuer, "maps": maps}.get(part, found)
        place[member or part] = value
    return found


ISSUER, MAPS = "jwt[0].issuer", "jwt[0].claimMappings"
UNREAD = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
BOTH = "claim and expression can't both be set"
TABLE: list[tuple[dict[str, Any], str]] = [
    (but(issuer_url=""), f"{ISSUER}.url: Required value"),
    (but(issuer_url="http://a"), f'{ISSUER}.url: Invalid value: "http://a": URL scheme must be'),
    (but(issuer_url="https://u:p@a"), "URL must not contain a username or password"),
    (but(issuer_url="https://a?b=c"), "URL must not contain a query"),
    (but(issuer_url="https://a#b"), "URL must not contain a fragment"),
    (but(issuer_url="https://a\x7f"), "invalid control character in URL"),
    (but(issuer_url=OURS), f"URL must not overlap with disallowed issuers: [{OURS}]"),
    (but(issuer_discoveryURL=URL + "/"), f"{ISSUER}.discoveryURL: Invalid value"),
    (but(issuer_discoveryURL="http://a/b"), "URL scheme must be https"),
    (but(issuer_audiences=[]), f"at least one {ISSUER}.audiences is required"),
    (but(issuer_audiences=[""]), f"{ISSUER}.audiences[0]: Required value"),
    (but(issuer_audiences=["a", "b"]), "audienceMatchPolicy must be MatchAny for multiple"),
    (
        but(issuer_audiences=["a", "a"], issuer_audienceMatchPolicy="MatchAny"),
        f'{ISSUER}.audiences[1]: Duplicate value: "a"',
    ),
    (but(issuer_audienceMatchPolicy="All"), "must be empty or MatchAny for single audience"),
    (but(issuer_certificateAuthority="x"), f'{ISSUER}.certificateAuthority: Invalid value: "<omi'),
    (but(issuer_egressSelectorType="cluster"), f"{ISSUER}.egressSelectorType: Invalid value"),
    (but(maps_username={}), f"{MAPS}.username: Required value: claim or expression is required"),
    (but(maps_username={"claim": "sub"}), f"{MAPS}.username.prefix: Required value: prefix is req"),
    (
        but(maps_username={"claim": "a", "expression": "'a'"}),
        f'{MAPS}.username: Invalid value: ""',
    ),
    (
        but(maps_username={"expression": "claims.a", "prefix": "x"}),
        f'{MAPS}.username.prefix: Invalid value: "x": may not be specified when expression is set',
    ),
    (but(maps_username={"expression": "user.a"}), "compilation failed: ERROR: <input>:1:1: undec"),
    (but(maps_username={"expression": "claims.email"}), "claims.email_verified must be used in"),
    (but(maps_groups={"claim": "g"}), f"{MAPS}.groups.prefix: Required value"),
    (but(maps_uid={"claim": "g", "expression": "'a'"}), f'{MAPS}.uid: Invalid value: "": {BOTH}'),
    (but(maps_extra=[{"key": "foo", "valueExpression": "'a'"}]), f"{MAPS}.extra[0].key: Invalid"),
    (but(maps_extra=[{"key": "a.B/c", "valueExpression": "'a'"}]), "must be lowercase"),
    (
        but(maps_extra=[{"key": "k8s.io/c", "valueExpression": "'a'"}]),
        "reserved for Kubernetes",
    ),
    (but(maps_extra=[{"key": "x.kubernetes.io/c", "valueExpression": "'a'"}]), "are reserved for"),
    (but(maps_extra=[{"key": "a.b/c"}]), f"{MAPS}.extra[0].valueExpression: Required value"),
    (
        but(maps_extra=[{"key": "a.b/c", "valueExpression": "'a'"}] * 2),
        f'{MAPS}.extra[1].key: Duplicate value: "a.b/c"',
    ),
    (
        but(claimValidationRules=[{}]),
        "claimValidationRules[0]: Required value: claim or",
    ),
    (but(claimValidationRules=[{"claim": "a", "expression": "true"}]), BOTH),
    (but(claimValidationRules=[{"claim": "a", "message": "m"}]), "may not be specified when claim"),
    (but(claimValidationRules=[{"claim": "a"}] * 2), 'claim: Duplicate value: "a"'),
    (
        but(claimValidationRules=[{"expression": "true", "requiredValue": "m"}]),
        "requiredValue: Invalid value",
    ),
    (but(claimValidationRules=[{"expression": "true"}] * 2), 'expression: Duplicate value: "true"'),
    (
        but(maps_groups={"expression": "claims.groups.map(g, 'x' + g)"}),
        "1:7: expression of type 'any' cannot be range of a comprehension (must be list, map, or",
    ),
    (but(issuer_certificateAuthority=UNREAD), '"<omitted>": x509: malformed certificate'),
    (
        but(issuer_certificateAuthority=UNREAD.replace("CERT", "X")),
        "does not contain any valid RSA",
    ),
    (but(issuer_audiences=[None]), f"{ISSUER}.audiences[0]: Required value"),
    (but(issuer_audiences={}), f'"{ISSUER}.audiences" must be a list'),
    (but(claimValidationRules=""), '"jwt[0].claimValidationRules" must be a list'),
    (but(claimValidationRules=[{"expression": "claims.a"}]), "must evaluate to bool"),
    (but(userValidationRules=[{}]), "userValidationRules[0].expression: Required value"),
    (but(userValidationRules=[{"expression": "user.name == ''"}]), "undefined field 'name'"),
    (but(userValidationRules=[{"expression": "user.uid"}]), "must evaluate to bool"),
]


@pytest.mark.parametrize(("jwt", "expected"), TABLE, ids=[text[:60] for _, text in TABLE])
def test_what_is_wrong(jwt: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as e:
        read(jwt)
    assert expected in str(e.value)


@pytest.mark.parametrize(
    "jwt",
    [
        GOOD,
        but(issuer_audiences=["a", "b"], issuer_audienceMatchPolicy="MatchAny"),
        but(issuer_discoveryURL="https://elsewhere.example.com/.well-known/x"),
        but(issuer_certificateAuthority=Authority("provider").pem),
        but(maps_username={"expression": "claims.email_verified ? claims.email : claims.sub"}),
        but(
            maps_username={"expression": "claims.email"},
            claimValidationRules=[{"expression": "claims.?email_verified.orValue(true) == true"}],
        ),
        but(maps_groups={"expression": "claims.groups"}, maps_uid={"claim": "uid"}),
    ],
)
def test_what_is_good(jwt: Any) -> None:
    assert len(read(jwt).jwt) == 1


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_older_versions_say_the_same(version: str) -> None:
    assert configuration.read(document(GOOD).replace(b"/v1", f"/{version}".encode())) == read(GOOD)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it must be AuthenticationConfiguration"),
        (b"[]", "it must be AuthenticationConfiguration"),
        (b"{", "yaml: "),
        (b"\xff\xfe", "it must be|yaml"),
        (document().replace(b"/v1", b"/v7"), "it must be AuthenticationConfiguration"),
        (document(other=1), 'strict decoding error: unknown field "other"'),
        (document(but(issuer_urll="x")), r'unknown field "jwt\[0\].issuer.urll"'),
        (document(but(issuer_url=1)), r'"jwt\[0\].issuer.url" must be a string'),
        (document(but(issuer_audiences="a")), r'audiences" must be a list'),
        (document("x"), r'"jwt\[0\]" must be an object'),
        (document() + b"jwt: []\n", 'key "jwt" already set in map'),
        (document(anonymous={"enabled": "yes"}), "must be a boolean"),
        (b" " * (configuration.LARGEST + 1), "has more than"),
    ],
)
def test_what_is_no_configuration(data: bytes, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        configuration.read(data)


@given(st.binary() | st.text().map(lambda t: document(t)))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(ConfigurationError):
        configuration.read(data)


def test_issuers_come_once() -> None:
    with pytest.raises(ConfigurationError, match=r"jwt\[1\].issuer.url: Duplicate value"):
        read(GOOD, GOOD)
    with pytest.raises(ConfigurationError, match="jwt: Too many: 65: must have at most 64 items"):
        read(*[GOOD] * 65)


def test_anonymous() -> None:
    assert read().anonymous is None
    found = read(anonymous={"enabled": True, "conditions": [{"path": "/livez"}]}).anonymous
    assert found == Anonymous(True, ("/livez",))
    assert found.admits("/livez") and not found.admits("/livez/ping")
    with pytest.raises(ConfigurationError, match="enabled should be set to true when conditions"):
        read(anonymous={"enabled": False, "conditions": [{"path": "/livez"}]})
    paths = [{"path": "/b"}, {"path": "/a"}, {"path": "/b"}]
    with pytest.raises(ConfigurationError, match=r'\[{"Path":"/b"},{"Path":"/a"},{"Path":"/b"}\]'):
        read(anonymous={"enabled": False, "conditions": paths})


# --- claims to users ------------------------------------------------------------------------------
def user(claims: dict[str, Any], **changes: Any) -> User:
    jwt: Jwt = read(but(**changes)).jwt[0]
    return ClaimRules(jwt, everywhere=False).user(claims)


GROUPS = {"maps_groups": {"claim": "g", "prefix": "g:"}}
EXPRESSED = {"maps_username": {"expression": "claims.name"}}


@pytest.mark.parametrize(
    ("claims", "changes", "why"),
    [
        ({}, {}, 'oidc: parse username claims "sub": claim not present'),
        ({"sub": 1}, {}, 'sub": json: cannot unmarshal number into Go value of type string'),
        ({"sub": "a", "g": [1]}, GROUPS, "cannot unmarshal array into Go value of type string"),
        ({"sub": "a", "g": {}}, GROUPS, "cannot unmarshal object into Go value of type string"),
        ({"sub": "a", "g": False}, GROUPS, "cannot unmarshal bool into Go value of type string"),
        ({"sub": None}, {}, "oidc: the username claim is empty"),
        ({"sub": "a"}, {"maps_groups": {"expression": "claims.a__dot__b"}}, "no such key: a__dot"),
        ({"sub": "a", "__x__": "b"}, {"maps_uid": {"expression": "claims.__x__"}}, "no such key"),
        ({"name": 1}, EXPRESSED, "username claim expression must return a string"),
        ({"name": ""}, EXPRESSED, "oidc: empty username via CEL expression is not allowed"),
        ({}, EXPRESSED, "expression 'claims.name' resulted in error: no such key: name"),
        (
            {"email": "a", "email_verified": False},
            {"maps_username": {"claim": "email", "prefix": ""}},
            "oidc: email not verified",
        ),
        (
            {"email": "a", "email_verified": "true"},
            {"maps_username": {"claim": "email", "prefix": ""}},
            "oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of ",
        ),
        (
            {"email": "a", "email_verified": None},
            {"maps_username": {"claim": "email", "prefix": ""}},
            "oidc: email not verified",
        ),
        (
            {"sub": "a", "g": {"x": 1}},
            {"maps_groups": {"expression": "claims.g"}},
            "expression must return a string or a list of strings",
        ),
        (
            {"sub": "a"},
            {"claimValidationRules": [{"claim": "hd"}]},
            "claim hd not present",
        ),
        (
            {"sub": "a", "hd": "x"},
            {"claimValidationRules": [{"claim": "hd", "requiredValue": "theirs"}]},
            "value does not match. Got = x, want = theirs",
        ),
        (
            {"sub": "a", "list": list(range(2000))},
            {
                "claimValidationRules": [
                    {
                        "expression": "dyn(claims.list).all(a, dyn(claims.list).all(b, "
                        "dyn(claims.list).all(c, a + b + c >= 0.0)))"
                    }
                ]
            },
            "cost limit exceeded",
        ),
    ],
)
def test_who_is_refused(claims: dict[str, Any], changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as e:
        user(claims, **changes)
    assert why in str(e.value)


def test_who_somebody_is() -> None:
    groups = {"maps_groups": {"expression": "claims.roles.split(',') + ['', 'all']"}}
    found = user({"sub": "a", "roles": "x,y", "jti": "j"}, **groups, maps_uid={"claim": "sub"})
    assert (found.name, found.uid) == ("a", "a")
    assert found.groups == ("x", "y", "all", "system:authenticated")
    assert found.extra == {"authentication.kubernetes.io/credential-id": ("JTI=j",)}
    assert user({"sub": "a", "g": [None, "x"]}, **GROUPS).groups[:2] == ("g:", "g:x")
    assert user({"sub": "a", "g": None}, **GROUPS).groups == ("system:authenticated",)
    assert user({"sub": "a", "u": None}, maps_uid={"claim": "u"}).uid == "", "null is nothing"
    assert user({"sub": "a", "h": None}, claimValidationRules=[{"claim": "h"}]).name == "a"
    numbers = {
        "maps_extra": [
            {"key": "a.b/c", "valueExpression": "type(claims.n) == double ? 'double' : 'other'"}
        ]
    }
    assert user({"sub": "a", "n": 1}, **numbers).extra == {"a.b/c": ("double",)}, "as Go reads JSON"
