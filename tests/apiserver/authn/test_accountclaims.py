"""Claims of service account tokens: what tokens say, when they are good, and what they die with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authn import accountclaims as claims
from apiserver.authn.accountclaims import Claims, Missing, Ref, Refused

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AT = int(NOW.timestamp())
ACCOUNT = {"metadata": {"namespace": "ns", "name": "robot", "uid": "u1"}}
POD, NODE, SECRET = Ref("pod", "u2"), Ref("node", "u3"), Ref("secret", "u4")


def made(bound: dict[str, Ref] | None = None, seconds: int = 3600) -> Claims:
    return claims.make(
        "https://issuer", ["https://issuer", "vault"], ACCOUNT, bound or {}, seconds, NOW
    )


def obj(uid: str, deleted: timedelta | None = None) -> dict[str, Any]:
    metadata = {"uid": uid}
    if deleted is not None:
        metadata["deletionTimestamp"] = (NOW - deleted).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": metadata}


def test_the_payload_is_kube_apiservers() -> None:
    found = made({"pod": POD, "node": NODE})
    assert claims.encode(found) == {
        "aud": ["https://issuer", "vault"],
        "exp": AT + 3600,
        "iat": AT,
        "iss": "https://issuer",
        "jti": found.credential,
        "kubernetes.io": {
            "namespace": "ns",
            "serviceaccount": {"name": "robot", "uid": "u1"},
            "pod": {"name": "pod", "uid": "u2"},
            "node": {"name": "node", "uid": "u3"},
        },
        "nbf": AT,
        "sub": "system:serviceaccount:ns:robot",
    }
    assert len(found.credential) == 36 and made().credential != found.credential
    assert claims.encode(made({"secret": SECRET}))["kubernetes.io"]["secret"] == {
        "name": "secret",
        "uid": "u4",
    }
    assert claims.encode(made({"pod": POD, "node": Ref("gone", "")}))["kubernetes.io"]["node"] == {
        "name": "gone"
    }


@pytest.mark.parametrize(
    ("bound", "extra"),
    [
        ({}, {}),
        ({"secret": SECRET}, {}),
        ({"pod": POD}, {"pod-name": ("pod",), "pod-uid": ("u2",)}),
        (
            {"pod": POD, "node": NODE},
            {"pod-name": ("pod",), "pod-uid": ("u2",), "node-name": ("node",), "node-uid": ("u3",)},
        ),
        (
            {"pod": POD, "node": Ref("gone", "")},
            {"pod-name": ("pod",), "pod-uid": ("u2",), "node-name": ("gone",)},
        ),
        ({"node": NODE}, {"node-name": ("node",), "node-uid": ("u3",)}),
    ],
)
def test_the_user_is_the_account_and_says_what_the_token_is_bound_to(
    bound: dict[str, Ref], extra: dict[str, Any]
) -> None:
    found = made(bound)
    user = found.user
    assert (user.name, user.uid, user.groups) == (
        "system:serviceaccount:ns:robot",
        "u1",
        ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
    )
    shown = {
        name.removeprefix("authentication.kubernetes.io/"): value
        for name, value in user.extra.items()
    }
    assert shown == {"credential-id": (f"JTI={found.credential}",), **extra}


names = st.text(min_size=1)
refs = st.builds(Ref, names, names)


@given(
    st.dictionaries(st.sampled_from(claims.BOUND), refs),
    st.lists(st.text()),
    names,
    refs,
    st.integers(0, 2**40),
)
def test_what_is_encoded_is_read_back(
    bound: dict[str, Ref], audiences: list[str], namespace: str, account: Ref, expires: int
) -> None:
    found = Claims(
        "https://issuer", tuple(audiences), AT, AT, expires, "jti", namespace, account, bound
    )
    assert claims.decode(claims.encode(found)) == found


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(scalars, lambda v: st.lists(v) | st.dictionaries(names, v))


@given(st.data())
def test_any_payload_is_read_without_an_error(data: st.DataObject) -> None:
    payload = claims.encode(made({"pod": POD}))
    for _ in range(data.draw(st.integers(1, 3))):
        inside = data.draw(st.booleans()) and isinstance(payload.get("kubernetes.io"), dict)
        changed = payload["kubernetes.io"] if inside else payload
        if changed:
            changed[data.draw(st.sampled_from(sorted(changed)))] = data.draw(values)
    found = claims.decode(payload)
    if found is not None:
        assert found.user.name == payload["sub"]


@pytest.mark.parametrize("name", ["aud", "exp", "iat", "iss", "jti", "nbf", "sub", "kubernetes.io"])
def test_nothing_may_be_left_out(name: str) -> None:
    payload = claims.encode(made())
    del payload[name]
    assert claims.decode(payload) is None


@pytest.mark.parametrize(
    ("after", "text"),
    [
        (0, ""),
        (-60, ""),
        (-61, "service account token is not valid yet"),
        (600, ""),
        (660, ""),
        (661, "service account token has expired"),
    ],
)
def test_clocks_may_differ_by_a_minute(after: int, text: str) -> None:
    moment = NOW + timedelta(seconds=after)
    if not text:
        claims.check_times(made(seconds=600), moment)
        return
    with pytest.raises(Refused, match=text):
        claims.check_times(made(seconds=600), moment)


def test_a_token_is_not_issued_in_the_future() -> None:
    found = Claims("i", (), AT + 61, AT, AT + 600, "j", "ns", Ref("robot", "u1"))
    with pytest.raises(Refused, match="issued in the future"):
        claims.check_times(found, NOW)


INVALIDATED = "service account token has been invalidated"
LATE, SOON = timedelta(seconds=61), timedelta(seconds=59)


@pytest.mark.parametrize(
    ("bound", "account", "found", "text"),
    [
        ({}, obj("u1"), {}, ""),
        ({}, obj("u1", SOON), {}, ""),
        ({}, obj("u1", LATE), {}, "service account ns/robot has been deleted"),
        ({}, obj("u9"), {}, r"service account UID \(u9\) does not match claim \(u1\)"),
        ({}, None, {}, 'serviceaccounts "robot" not found'),
        ({"pod": POD}, obj("u1"), {"pod": obj("u2")}, ""),
        ({"pod": POD}, obj("u1"), {"pod": obj("u2", SOON)}, ""),
        ({"pod": POD}, obj("u1"), {"pod": obj("u2", timedelta(hours=-1))}, ""),
        ({"pod": POD}, obj("u1"), {"pod": obj("u2", LATE)}, INVALIDATED),
        ({"pod": POD}, obj("u1"), {"pod": None}, INVALIDATED),
        (
            {"pod": POD},
            obj("u1"),
            {"pod": obj("u9")},
            r"pod UID \(u9\) does not match service account pod ref claim \(u2\)",
        ),
        ({"pod": POD, "node": NODE}, obj("u1"), {"pod": obj("u2")}, ""),
        ({"node": NODE}, obj("u1"), {"node": obj("u3")}, ""),
        ({"node": NODE}, obj("u1"), {"node": obj("u3", LATE)}, INVALIDATED),
        ({"node": NODE}, obj("u1"), {}, INVALIDATED),
        (
            {"node": NODE},
            obj("u1"),
            {"node": obj("u9")},
            r"node UID \(u9\) does not match service account node ref claim \(u3\)",
        ),
        ({"secret": SECRET}, obj("u1"), {"secret": obj("u4")}, ""),
        ({"secret": SECRET}, obj("u1"), {"secret": obj("u4", LATE)}, INVALIDATED),
        ({"secret": SECRET}, obj("u1"), {"secret": None}, INVALIDATED),
        (
            {"secret": SECRET},
            obj("u1"),
            {"secret": obj("u9")},
            r"secret UID \(u9\) does not match service account secret ref claim \(u4\)",
        ),
    ],
)
def test_a_token_dies_with_what_it_stands_on(
    bound: dict[str, Ref], account: Any, found: dict[str, Any], text: str
) -> None:
    if not text:
        claims.check_objects(made(bound), account, found, NOW)
        return
    with pytest.raises(Refused, match=text) as refused:
        claims.check_objects(made(bound), account, found, NOW)
    absent_or_another = account is None or "u9" in text or found.get(next(iter(bound), "")) is None
    assert isinstance(refused.value, Missing) is (absent_or_another and "deleted" not in text)
