"""Numbers of more digits than Python converts, wherever clients can send some: answered as what is
out of range, and never by an error of Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.codec import json, protobuf_special, yaml, yaml_json
from apiserver.errors import BadRequest, PlainError
from apiserver.fieldmanager import fieldpath
from apiserver.golang import netip
from apiserver.golang.strconv import BEYOND, whole
from apiserver.golang.time import TimeError, parse_duration
from apiserver.kinds import formats as formats_of_kinds
from apiserver.kinds.apiextensions import jsonpath
from apiserver.kinds.batch.indexes import IndexesError, count_indexes, overlap
from apiserver.kinds.batch.schedule import ScheduleError, check_schedule
from apiserver.kinds.common import podannotations, rollout
from apiserver.meta.labels import LabelSelectorError, parse_label_selector
from apiserver.meta.quantity import QuantityError, parse_quantity
from apiserver.patch import jsonpatch
from apiserver.registry import options, preconditions, reading
from apiserver.schema import formats

MANY = "9" * 5000
ZEROS = "0" * 5000
RANGE = "value out of range"


@given(st.integers(-(10**60), 10**60), st.integers(0, 6000))
def test_whole_is_int_with_ends(number: int, zeros: int) -> None:
    sign = "-" if number < 0 else ""
    text = f"{sign}{'0' * zeros}{abs(number)}"
    assert whole(text) == (number if abs(number) < BEYOND else BEYOND if number > 0 else -BEYOND)


@pytest.mark.parametrize(
    "text", ["", "x", "1.5", "--1", "1" * 5000 + "x", "+-" + MANY, "-" * 5000, "٣" * 5000]
)
def test_whole_refuses_what_int_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|no whole number") as error:
        whole(text)
    assert "limit" not in str(error.value)


@pytest.mark.parametrize(
    "text", [MANY, "-" + MANY, "+" + MANY, "9_" * 5000 + "9", "0x" + "f" * 5000, "0b" + "1" * 5000]
)
def test_yaml(text: str) -> None:
    """Go's reader finds neither an int nor a uint nor a float64 in it, so it is a string."""
    assert yaml.loads(f"a: {text}\n".encode())[0] == {"a": text}
    with pytest.raises(yaml.YAMLError, match="cannot decode"):
        yaml.loads(f'a: !!int "{text}"\n'.encode())


def test_yaml_with_zeros() -> None:
    assert yaml.loads(f"a: {ZEROS}7\n".encode())[0] == {"a": 7}


def _refused(error: type[Exception], call: Callable[[], Any], text: str = "") -> None:
    with pytest.raises(error) as raised:
        call()
    said = getattr(raised.value, "message", None) or str(raised.value)
    assert text in said and "set_int_max_str_digits" not in said


CALLS: dict[str, Callable[[], Any]] = {
    "json": lambda: _refused(
        json.JSONError, lambda: json.loads(f'{{"a":{MANY}}}'.encode()), "cannot unmarshal number"
    ),
    "json, negative": lambda: _refused(
        json.JSONError, lambda: json.loads(f'{{"a":-{MANY}}}'.encode()), "cannot unmarshal number"
    ),
    "json, exponent": lambda: _refused(
        json.JSONError, lambda: json.loads(f'{{"a":1e{MANY}}}'.encode()), "cannot unmarshal number"
    ),
    "json as yaml": lambda: yaml_json.read(f'{{"a":{MANY}}}'.encode()),
    "?limit=": lambda: _refused(BadRequest, lambda: options.parse_int(MANY), RANGE),
    "?limit=-": lambda: _refused(BadRequest, lambda: options.parse_int("-" + MANY), RANGE),
    "?resourceVersion=": lambda: _refused(ValueError, lambda: reading.parse_version(MANY), RANGE),
    "metadata.resourceVersion": lambda: _refused(
        PlainError,
        lambda: preconditions.resource_version_of({"metadata": {"resourceVersion": MANY}}),
        RANGE,
    ),
    "?labelSelector=a>": lambda: _refused(
        LabelSelectorError, lambda: parse_label_selector(f"a>{MANY}")
    ),
    "?labelSelector=a<0...": lambda: _refused(
        LabelSelectorError, lambda: parse_label_selector(f"a<{ZEROS}5")
    ),
    "JSON patch": lambda: _refused(jsonpatch.PatchRefused, lambda: jsonpatch._index([1], MANY)),
    "JSON patch, from the end": lambda: _refused(
        jsonpatch.PatchRefused, lambda: jsonpatch._index([1], "-" + MANY)
    ),
    "quantity": lambda: _refused(QuantityError, lambda: parse_quantity(MANY)),
    "quantity, exponent": lambda: _refused(QuantityError, lambda: parse_quantity("1e" + MANY)),
    "indexes": lambda: overlap(f"1-{MANY}", MANY, 10),
    "cron": lambda: _refused(ScheduleError, lambda: check_schedule(f"{MANY} * * * *"), RANGE),
    "cron, step": lambda: _refused(
        ScheduleError, lambda: check_schedule(f"*/{MANY} * * * *"), RANGE
    ),
    "cron, every": lambda: _refused(
        ScheduleError, lambda: check_schedule(f"@every {MANY}h"), "invalid duration"
    ),
    "duration": lambda: _refused(TimeError, lambda: parse_duration(f"{MANY}h"), "invalid duration"),
    "duration, fraction": lambda: parse_duration(f"1.{MANY}s"),
    "duration, protobuf": lambda: protobuf_special.parse_duration(f"{MANY}h"),
    "managedFields": lambda: fieldpath._canonical(f"i:{MANY}"),
    "managedFields, order": lambda: fieldpath.order(f"i:{MANY}"),
    "column, index": lambda: jsonpath.parse_path(f".a[{MANY}]"),
    "column, slice": lambda: jsonpath.parse_path(f".a[{MANY}:{MANY}:{MANY}]"),
    "column, filter": lambda: jsonpath.parse_path(f".a[?(@.b=={MANY})]"),
    "percent": lambda: rollout.value_of(MANY + "%"),
    "annotation": lambda: podannotations._is_int32(MANY),
    "format cidr": lambda: netip.is_cidr_sloppy(f"1.2.3.4/{MANY}"),
    "cidr": lambda: formats_of_kinds.cidr(f"1.2.3.4/{MANY}"),
    "spelled duration": lambda: formats.spelled_duration(f"{MANY} days"),
}


@pytest.mark.parametrize("name", CALLS)
def test_nobody_hears_of_pythons_limit(name: str) -> None:
    CALLS[name]()


def test_indexes_beyond_all_are_passed_over_as_too_large() -> None:
    assert overlap("1-3", f"2,{MANY}", 10) == 2
    with pytest.raises(IndexesError, match="too large index"):
        count_indexes(MANY, 10)
