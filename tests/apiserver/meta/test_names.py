from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.meta import names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("validate", "value", "complaints"),
    [
        (names.dns1123_subdomain, "a.b-c.1", []),
        (names.dns1123_subdomain, "A", [SUBDOMAIN]),
        (names.dns1123_subdomain, "a\n", [SUBDOMAIN]),
        (names.dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.dns1123_label, "a.b", ["must not contain dots"]),
        (names.dns1123_label, "a_b", [LABEL]),
        (names.dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.label_key, "example.com/Name_1", []),
        (
            names.label_key,
            "a/b/c",
            [
                f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. "
                f"'example.com/MyName')"
            ],
        ),
        (names.label_key, "/b", ["prefix part must be non-empty"]),
        (names.label_key, "a/", ["name part must be non-empty", f"name part {KEY}"]),
        (names.label_key, "A/b", [f"prefix part {SUBDOMAIN}"]),
        (names.label_key, "a" * 254 + "/b", ["prefix part must be no more than 253 bytes"]),
        (names.label_key, "b" * 64, ["name part must be no more than 63 bytes"]),
        (names.label_value, "", []),
        (names.label_value, "-a", [VALUE]),
        (names.label_value, "ä" * 40, ["must be no more than 63 bytes", VALUE]),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.path_segment, "a/b%c", ["may not contain '/'", "may not contain '%'"]),
        (names.config_map_key, "..a", ["must not start with '..'"]),
        (
            names.port_name,
            "a--b-",
            ["must not contain consecutive hyphens", "must not begin or end with a hyphen"],
        ),
    ],
)
def test_complaints(validate: names.Validator, value: str, complaints: list[str]) -> None:
    assert validate(value) == complaints


def test_a_generate_name_may_end_in_a_dash() -> None:
    assert names.in_prefix(names.dns1123_subdomain)("web-") == []
    assert names.in_prefix(names.dns1123_subdomain)("-") == [SUBDOMAIN]
    assert names.in_prefix(names.path_segment)("..") == []


@given(st.text(alphabet="abc-", min_size=1, max_size=80))
def test_generated_names_extend_the_base_and_fit_a_label(base: str) -> None:
    name = names.generate_name(base)
    assert name.startswith(base[:58])
    assert len(name) == min(len(base), 58) + 5
    assert set(name[-5:]) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_uids_are_random_uuids() -> None:
    uids = {names.random_uid() for _ in range(200)}
    assert len(uids) == 200
    for uid in uids:
        parsed = uuid.UUID(uid)
        assert (str(parsed), parsed.version, parsed.variant) == (uid, 4, uuid.RFC_4122)
