"""Syntax of names, label keys and values, and of the other small strings of the API.

Every validator returns the list of complaints in kube-apiserver's words; an empty list means valid.
Source: k8s.io/apimachinery ``util/validation``, ``api/validate/content`` and ``api/validation``.
Two generations of texts live side by side there: label keys and values say "bytes", the older
validators say "characters"; both count bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
from collections.abc import Callable

Validator = Callable[[str], list[str]]

MAX_ANNOTATIONS_BYTES = 256 * 1024
"""Limit for the keys and values of all annotations of an object together."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_UNDERSCORE = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY_NAME})?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"
_HEADER = "[-A-Za-z0-9]+"

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_UNDERSCORE_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' "
    "or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_KEY_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_C_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', followed "
    "by a string of alphanumeric characters or '_'"
)
_CONFIG_KEY_TEXT = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_RELAXED_ENV_TEXT = (
    "a valid environment variable name must consist only of printable ASCII characters other "
    "than '='"
)


def max_length_error(length: int, unit: str = "characters") -> str:
    return f"must be no more than {length} {unit}"


def in_bytes(validate: Validator) -> Validator:
    """Declared rules say "bytes" where hand-written ones say "characters"; both count bytes."""
    return lambda value: [
        e.replace(" characters", " bytes") if e.startswith("must be no more") else e
        for e in validate(value)
    ]


def range_error(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def regex_error(text: str, pattern: str, *examples: str) -> str:
    """``text (e.g. 'a',  or 'b', regex used for validation is '...')``: upstream's commas are part
    of the text."""
    if not examples:
        return f"{text} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {listed}regex used for validation is '{pattern}')"


def _too_long(value: str, limit: int) -> bool:
    return len(value) > limit or (
        not value.isascii() and len(value.encode("utf-8", "surrogatepass")) > limit
    )


def _syntax(pattern: str, text: str, *examples: str, limit: int = 0) -> Validator:
    """A validator from a pattern, an optional limit in bytes, and the text for what does not
    match."""
    matches = re.compile(pattern).fullmatch
    complaint = regex_error(text, pattern, *examples)
    most = limit or sys.maxsize

    def validate(value: str) -> list[str]:
        if len(value) <= most and value.isascii() and matches(value):
            return []
        errors = [max_length_error(limit)] if limit and _too_long(value, limit) else []
        if not matches(value):
            errors.append(complaint)
        return errors

    return validate


dns1123_subdomain = _syntax(_SUBDOMAIN, _SUBDOMAIN_TEXT, "example.com", limit=253)
dns1123_subdomain_with_underscore = _syntax(
    _SUBDOMAIN_UNDERSCORE, _SUBDOMAIN_UNDERSCORE_TEXT, "example.com", limit=253
)
dns1035_label = _syntax(_LABEL_1035, _LABEL_1035_TEXT, "my-name", "abc-123", limit=63)
wildcard_dns1123_subdomain = _syntax(_WILDCARD, _WILDCARD_TEXT, "*.example.com", limit=253)
c_identifier = _syntax(_C_IDENTIFIER, _C_IDENTIFIER_TEXT, "my_name", "MY_NAME", "MyName")
percent = _syntax(
    _PERCENT,
    "a valid percent string must be a numeric string followed by an ending '%'",
    "1%",
    "93%",
)
http_header_name = _syntax(
    _HEADER, "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_config_key = _syntax(_CONFIG_KEY, _CONFIG_KEY_TEXT, "key.name", "KEY_NAME", "key-name", limit=253)
_label = _syntax(_LABEL, _LABEL_TEXT, "my-name", "123-abc", limit=63)
_KEY_COMPLAINT = regex_error(_KEY_TEXT, _KEY_NAME, "MyName", "my.name", "123-abc")
_key_name_matches = re.compile(_KEY_NAME).fullmatch
_label_value_matches = re.compile(_LABEL_VALUE).fullmatch
_subdomain_matches = re.compile(_SUBDOMAIN).fullmatch


def dns1123_label(value: str) -> list[str]:
    """A DNS label; a valid subdomain is told that dots are the trouble."""
    errors = _label(value)
    if errors and _subdomain_matches(value):
        return [
            *(e for e in errors if e.startswith("must be no more")),
            *(["must not contain dots"] if "." in value else []),
        ]
    return errors


def label_key(value: str) -> list[str]:
    """A qualified name: ``name`` or ``prefix/name``. Label keys, annotation keys (lower-cased
    first), finalizers, resource names."""
    if len(value) <= 63 and value.isascii() and _key_name_matches(value):
        return []
    parts = value.split("/")
    if len(parts) > 2:
        return [
            (
                f"a valid label key {_KEY_COMPLAINT} with an optional DNS subdomain prefix and "
                "'/' (e.g. 'example.com/MyName')"
            )
        ]
    errors = []
    name = parts[-1]
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            errors += [
                (
                    "prefix part "
                    f"{e.replace(' characters', ' bytes') if e.startswith('must be no') else e}"
                )
                for e in dns1123_subdomain(prefix)
            ]
    if not name:
        errors.append("name part must be non-empty")
    elif _too_long(name, 63):
        errors.append(f"name part {max_length_error(63, 'bytes')}")
    if not _key_name_matches(name):
        errors.append(f"name part {_KEY_COMPLAINT}")
    return errors


qualified_name = label_key


def label_value(value: str) -> list[str]:
    if len(value) <= 63 and value.isascii() and _label_value_matches(value):
        return []
    errors = [max_length_error(63, "bytes")] if _too_long(value, 63) else []
    if not _label_value_matches(value):
        errors.append(regex_error(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return errors


def path_segment(value: str) -> list[str]:
    """A name that can stand between two slashes of a URL (RBAC names and others that need not be
    DNS names)."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> list[str]:
    if "/" not in value and "%" not in value:
        return []
    return [f"may not contain '{c}'" for c in "/%" if c in value]


def config_map_key(value: str) -> list[str]:
    """A key of a ConfigMap or a Secret."""
    return _config_key(value) + _parent_directory(value)


def relaxed_env_var_name(value: str) -> list[str]:
    errors = [] if value else ["environment variable name must be non-empty"]
    if any(not " " <= c <= "~" or c == "=" for c in value):
        errors.append(_RELAXED_ENV_TEXT)
    return errors


def _parent_directory(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def port_name(value: str) -> list[str]:
    """An IANA service name."""
    errors = [max_length_error(15)] if _too_long(value, 15) else []
    if not re.fullmatch("[-a-z0-9]+", value):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else [range_error(1, 65535)]


def in_prefix(validate: Validator) -> Validator:
    """The validator for a generateName: a trailing dash is allowed, because a suffix will follow
    it."""

    def check(prefix: str) -> list[str]:
        return validate(prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix)

    return path_segment_prefix if validate is path_segment else check


_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_RANDOM_LENGTH = 5
_MAX_BASE_BYTES = 63 - _RANDOM_LENGTH


def random_suffix() -> str:
    """Five random letters without vowels, so that no words appear."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))


def random_uid() -> str:
    """A version 4 UUID (RFC 9562) that nobody can guess; ``uuid.uuid4`` takes three times as
    long."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def derived_name(base: str, *about: str) -> str:
    """A name like those of `generate_name`, the same one for the same."""
    digest = hashlib.sha256("\0".join(about).encode()).digest()
    letters = (_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_RANDOM_LENGTH])
    return base[:_MAX_BASE_BYTES] + "".join(letters)


def generate_name(base: str) -> str:
    """A name for an object with ``generateName: base``: the base cut to 58 bytes and five random
    characters."""
    if not base.isascii():
        base = base.encode()[:_MAX_BASE_BYTES].decode("utf-8", "ignore")
    return base[:_MAX_BASE_BYTES] + random_suffix()
