"""The form of CBOR, case by case of fxamacker/cbor's check."""

from __future__ import annotations

import json
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.codec import cbor, cbor_body, cbor_form
from apiserver.codec.body import BodyError
from apiserver.codec.cbor_form import fault

END = "unexpected EOF"
BREAK = 'cbor: unexpected "break" code'
FLOAT = "cbor: data item of cbor type primitives is not accepted by protocol: floating-point "
BIGNUM = "cbor: data item of cbor type tag is not accepted by protocol: bignum"


@pytest.mark.parametrize(
    ("encoded", "error"),
    [
        ("00", ""),
        ("a0", ""),
        ("9f0102ff", ""),
        ("bf6161016162029fffff", BREAK),
        ("bf6161016162029fff00ff", ""),
        ("bf616101ff", ""),
        ("7f61616162ff", ""),
        ("d9d9f7a0", ""),
        ("0000", "cbor: 1 bytes of extraneous data starting at index 1"),
        ("", END),
        ("18", END),
        ("1901", END),
        ("6261", END),
        ("8201", END),
        ("a16161", END),
        ("9f01", END),
        ("7f6161", END),
        ("c1", END),
        ("ff", BREAK),
        ("81ff", BREAK),
        ("bf6161ff", BREAK),
        ("1c", "cbor: invalid additional information 28 for type positive integer"),
        ("3f", "cbor: invalid additional information 31 for type negative integer"),
        ("5d", "cbor: invalid additional information 29 for type byte string"),
        ("7e", "cbor: invalid additional information 30 for type UTF-8 text string"),
        ("9c", "cbor: invalid additional information 28 for type array"),
        ("bc", "cbor: invalid additional information 28 for type map"),
        ("df", "cbor: invalid additional information 31 for type tag"),
        ("fc", "cbor: invalid additional information 28 for type primitives"),
        ("f810", "cbor: invalid simple value 16 for type primitives"),
        ("f820", ""),
        (
            "7f4161ff",
            "cbor: wrong element type byte string for indefinite-length UTF-8 text string",
        ),
        ("5f5f4161ffff", "cbor: indefinite-length byte string chunk is not definite-length"),
        ("f97e00", FLOAT + "NaN"),
        ("fa7f800000", FLOAT + "infinity"),
        ("81fbfff0000000000000", FLOAT + "infinity"),
        ("81c249010000000000000000", BIGNUM),
        ("d864c341ff", BIGNUM),
        (
            "5bffffffffffffffff",
            "cbor: byte string length 18446744073709551615 is too large, causing integer overflow",
        ),
        (
            "9bffffffffffffffff",
            "cbor: array length 18446744073709551615 is too large, it would cause integer overflow",
        ),
        ("9b0000000080000000", "cbor: exceeded max number of elements 2147483647 for CBOR array"),
        ("ba00200001", "cbor: exceeded max number of key-value pairs 2097152 for CBOR map"),
        ("81" * 10_001, "cbor: exceeded max nested level 10000"),
    ],
)
def test_a_fault_is_told_in_gos_words(encoded: str, error: str) -> None:
    assert fault(bytes.fromhex(encoded)) == error


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
)


@given(VALUES, st.integers(0, 60))
def test_what_is_written_is_well_formed_and_a_part_of_it_is_not(value: Any, cut: int) -> None:
    data = cbor2.dumps(value)
    assert fault(data) == ""
    if cut < len(data):
        assert fault(data[:cut]) == END


@pytest.mark.parametrize("inner", ["1c", "ff", "f97e00", "c249010000000000000000"])
def test_errors_of_form_come_before_all_others(inner: str) -> None:
    before = b"\x82\x61\xff"  # text that is no UTF-8
    data = before + bytes.fromhex(inner)
    with pytest.raises(cbor.Malformed) as e:
        cbor.loads(data)
    assert str(e.value) == fault(data) != ""
    assert json.dumps(cbor.loads(b"\x81\x00")) == "[0]"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x9a\x00\x2d\xc6\xc0" + b"\x01" * 3_000_000 + b"\x01", "1 bytes of extraneous data"),
        (b"\x9f" + b"\x01" * 3_000_000 + b"\x1c", "cbor: "),
        (b"\x9f" + (b"\x81" * 500 + b"\x01") * 6000 + b"\x1c", "cbor: "),
        (b"\x7f" + b"\x60" * 3_000_000 + b"\x00", "cbor: "),
        (b"\xc7" * 3_000_000, "cbor: "),
        (b"\xa1\x9f" + b"\x01" * 3_000_000 + b"\xff\x01", "cbor: invalid map key type"),
    ],
)
def test_what_is_large_is_refused_without_a_look_at_all_of_it(
    data: bytes, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, head = [0], cbor_form._Scan._head

    def counted(self: Any) -> Any:
        looked[0] += 1
        return head(self)

    monkeypatch.setattr(cbor_form._Scan, "_head", counted)
    with pytest.raises(cbor.Malformed, match=error):
        cbor.loads(data)
    with pytest.raises(BodyError):
        cbor_body.read(data)
    assert looked[0] <= 200_002
