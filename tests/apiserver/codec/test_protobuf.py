"""Every built-in kind there and back, and the recorded wire of a real server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.codec import cbor, protobuf
from apiserver.codec import json as json_codec
from apiserver.codec import yaml as yaml_codec
from apiserver.codec.protobuf_kinds import find_kind
from apiserver.codec.protobuf_special import format_duration, parse_duration
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import kinds, schema_for
from tests.support.wire import wire

RECORDED = (
    Path(__file__).resolve().parents[4]
    / "shared/conformance/scenarios/surface/encoding-protobuf-reads.recorded.json"
)
Generate = Callable[[GroupVersionKind, int], dict[str, Any]]
WITHOUT = {"ConversionReview", "Info"}
OWN = "history.polyplane.dev"
"""Has no messages, as groups of definitions have none."""
KINDS = sorted(k for k in kinds() if k.kind not in WITHOUT and k.group != OWN)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_kind_survives_protobuf(generate: Generate, seed: int) -> None:
    for gvk in KINDS:
        obj = generate(gvk, seed)
        data = protobuf.encode(obj)
        assert protobuf.decode(data) == obj, gvk
        assert protobuf.encode(obj) == data


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_kind_survives_the_other_encodings(generate: Generate, seed: int) -> None:
    for gvk in KINDS:
        obj = generate(gvk, seed)
        assert cbor.loads(cbor.dumps(obj, schema_for(gvk))) == obj, gvk
        assert json_codec.loads(json_codec.dumps(obj)) == (obj, []), gvk
        assert yaml_codec.loads(yaml_codec.dumps(obj)) == (obj, []), gvk


def has_form(kind: GroupVersionKind) -> bool:
    try:
        return bool(find_kind(kind))
    except KeyError:
        return False


def test_every_served_kind_has_a_protobuf_form() -> None:
    without = {k for k in kinds() if not has_form(k)}
    assert {k.kind for k in without if k.group != OWN} <= WITHOUT
    assert {k for k in kinds() if k.group == OWN} <= without
    assert has_form(GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata"))
    assert has_form(GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"))
    assert not has_form(GroupVersionKind("meta.k8s.io", "v1", "Table"))
    assert not has_form(GroupVersionKind("example.com", "v1", "Widget"))


def as_recorded(found: Any, recorded: Any) -> Any:
    """``found`` in the notation of the recordings, which guess from the bytes what is a message."""
    if isinstance(recorded, dict):
        parts = wire(found)
        return {
            str(k): [as_recorded(v, r) for v, r in zip(vs, recorded.get(str(k), vs), strict=False)]
            for k, vs in parts.items()
        }
    return found.decode() if isinstance(found, bytes) and isinstance(recorded, str) else found


@pytest.mark.shared
@pytest.mark.skipif(not RECORDED.exists(), reason="needs ../shared/conformance")
def test_recorded_statuses() -> None:
    recorded = json.loads(RECORDED.read_text())
    answers = {
        a["id"]: a["answer"]["body"]
        for a in (recorded if isinstance(recorded, list) else recorded["steps"])
    }
    absent = {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "absent" not found',
        "reason": "NotFound",
        "details": {"name": "absent", "kind": "configmaps"},
        "code": 404,
    }
    deleted = {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Success",
        "details": {"name": "s", "kind": "secrets", "uid": "<uid3>"},
    }
    for name, status in (("error", absent), ("delete", deleted)):
        expected = answers[name]["protobuf"]
        assert as_recorded(protobuf.encode(status)[4:], expected) == expected


def test_zero_values_are_written_unless_go_holds_a_pointer() -> None:
    message = wire(
        protobuf.encode_message(
            {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "c"}]}}
        )
    )
    assert set(message) == {1, 2, 3}  # metadata and status, though not given
    container = wire(wire(message[2][0])[2][0])
    assert container[5] == [b""] and container[16] == [0] and container[8] == [b""]
    assert 24 not in container  # restartPolicy
    assert wire(message[1][0])[8] == [b""]  # creationTimestamp: the zero time


def test_special_types_on_the_wire() -> None:
    lease = {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "spec": {"renewTime": "2024-01-02T03:04:05.678901Z"},
    }
    assert wire(wire(wire(protobuf.encode_message(lease))[2][0])[4][0]) == {
        1: [1704164645],
        2: [678901000],
    }
    port = {
        "kind": "Service",
        "apiVersion": "v1",
        "spec": {"ports": [{"port": 80, "targetPort": "web"}]},
    }
    spec = wire(wire(protobuf.encode_message(port))[2][0])
    assert wire(wire(spec[1][0])[4][0]) == {1: [1], 2: [0], 3: [b"web"]}
    secret = {"kind": "Secret", "apiVersion": "v1", "data": {"b": "aGk=", "a": "AA=="}}
    assert [wire(e) for e in wire(protobuf.encode_message(secret))[2]] == [
        {1: [b"a"], 2: [b"\x00"]},
        {1: [b"b"], 2: [b"hi"]},
    ]


def test_embedded_structs_are_messages_of_their_own() -> None:
    volume = {"name": "v", "hostPath": {"path": "/x"}}
    pod = {"kind": "Pod", "apiVersion": "v1", "spec": {"volumes": [volume], "containers": None}}
    found = wire(wire(wire(protobuf.encode_message(pod))[2][0])[1][0])
    assert set(found) == {1, 2} and wire(wire(found[2][0])[1][0])[1] == [b"/x"]
    read = protobuf.decode(protobuf.encode(pod))
    assert read["spec"]["volumes"] == [volume]


def test_times_lose_what_kubernetes_does_not_keep() -> None:
    obj = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"creationTimestamp": "2024-01-02T05:04:05.9+02:00"},
    }
    assert (
        protobuf.decode(protobuf.encode(obj))["metadata"]["creationTimestamp"]
        == "2024-01-02T03:04:05Z"
    )


def test_lists_join_items_and_watches_frame_events() -> None:
    items = [{"metadata": {"name": f"n{i}"}, "data": {"a": "x" * i}} for i in range(300)]
    whole = {
        "kind": "ConfigMapList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7", "remainingItemCount": 3},
        "items": items,
    }
    gvk = GroupVersionKind("", "v1", "ConfigMap")
    parts = protobuf.encode_list(
        "ConfigMapList", "v1", whole["metadata"], [protobuf.encode_message(i, gvk) for i in items]
    )  # type: ignore[arg-type]
    assert b"".join(parts) == protobuf.encode(whole)
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
    frame = protobuf.frame(protobuf.encode_watch_event("ADDED", obj))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    event = wire(frame[4:])
    assert event[1] == [b"ADDED"] and wire(event[2][0])[1] == [protobuf.encode(obj)]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "empty data"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 "
            "0]",
        ),
        (b"k8s\x00", "empty body"),
        (b"k8s\x00\x0a\xff", "unexpected EOF"),
        (
            b"k8s\x00\x12\x00",
            "Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:\"\", Kind:\"\"}'",
        ),
        (
            b"k8s\x00\x0a\x05\x12\x03Pod",
            "Object 'apiVersion' is missing in 'runtime.TypeMeta{APIVersion:\"\", Kind:\"Pod\"}'",
        ),
        (
            b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pox",
            'no kind "Pox" is registered for version "v1" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
        (b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x0a\xff", "unexpected EOF"),
    ],
)
def test_what_is_no_object_is_refused(data: bytes, error: str) -> None:
    with pytest.raises(protobuf.ProtobufError) as e:
        protobuf.decode(data)
    assert str(e.value) == error
    named = data.startswith(b"k8s\x00\x0a\x09")
    assert (e.value.kind is not None) == named, (
        "the answer names the kind as soon as the envelope does"
    )


def test_of_two_keys_the_one_that_the_other_begins_with_comes_first() -> None:
    obj = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {},
        "data": {"app.x": "", "app": "1", "a": "2"},
    }
    data = wire(wire(protobuf.encode(obj)[4:])[2][0])[2]
    assert [wire(entry)[1] for entry in data] == [[b"a"], [b"app"], [b"app.x"]]
    assert wire(data[2])[2] == [b""], "a value is there also when it is empty"


@given(st.binary(max_size=60), st.sampled_from(KINDS))
def test_no_message_breaks_the_reader(data: bytes, gvk: GroupVersionKind) -> None:
    envelope = (
        protobuf.encode({"kind": "ConfigMap", "apiVersion": "v1"})[:4]
        + b"\x12"
        + bytes([len(data)])
        + data
    )
    try:
        json_codec.dumps(protobuf.decode(envelope, gvk))
    except protobuf.ProtobufError:
        return


def test_an_envelope_without_a_kind_takes_the_default() -> None:
    gvk = GroupVersionKind("", "v1", "ConfigMap")
    message = protobuf.encode_message({"metadata": {"name": "a"}}, gvk)
    data = b"k8s\x00\x12" + bytes([len(message)]) + message
    assert protobuf.decode(data, gvk) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
    }


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0s", 0),
        ("1h30m0s", 5400 * 10**9),
        ("1.5ms", 1_500_000),
        ("-2s", -2 * 10**9),
        ("150ns", 150),
        ("1m0.25s", 60_250_000_000),
    ],
)
def test_durations(text: str, nanos: int) -> None:
    assert parse_duration(text) == nanos and format_duration(nanos) == text
