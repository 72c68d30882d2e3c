"""Formats of single values that pod-like objects use: each function takes a value and returns what is wrong with it.

Texts and rules: k8s.io/apimachinery ``util/validation``. Names, labels and qualified names live in `apiserver.meta.names`.
"""

from __future__ import annotations

import ipaddress
import re

_PORT_NAME = re.compile(r"[-a-z0-9]+")
_PERCENT = re.compile(r"[0-9]+%")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_UNDERSCORED = re.compile(r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
MAX_ID = 0x7FFFFFFF


def max_length(n: int) -> str:
    return f"must be no more than {n} characters"


def regex_text(message: str, pattern: str, *examples: str) -> str:
    """A rule as kube-apiserver words it: the sentence, examples, the regular expression."""
    shown = ",  or ".join(f"'{e}'" for e in examples)
    return f"{message} ({f'e.g. {shown}, ' if shown else ''}regex used for validation is '{pattern}')"


def in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [f"must be between {low} and {high}, inclusive"]


def port_number(value: int) -> list[str]:
    return in_range(value, 1, 65535)


def user_id(value: int) -> list[str]:
    """Also for groups: what fits in a signed 32-bit integer."""
    return in_range(value, 0, MAX_ID)


def port_name(value: str) -> list[str]:
    """RFC 6335 service names, lower case only."""
    wrong = []
    if len(value) > 15:
        wrong.append(max_length(15))
    if not _PORT_NAME.fullmatch(value):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in value:
        wrong.append("must not contain consecutive hyphens")
    if value and "-" in (value[0], value[-1]):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def percent(value: str) -> list[str]:
    if _PERCENT.fullmatch(value):
        return []
    return [regex_text("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%")]


def http_header(value: str) -> list[str]:
    if _HEADER.fullmatch(value):
        return []
    return [regex_text("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name")]


def env_name(value: str) -> list[str]:
    """Since 1.32 all printable ASCII but "=" (KEP-4369)."""
    wrong = [] if value else ["environment variable name must be non-empty"]
    if not all(0x20 <= ord(c) <= 0x7E and c != "=" for c in value):
        wrong.append("a valid environment variable name must consist only of printable ASCII characters other than '='")
    return wrong


def config_key(value: str) -> list[str]:
    """A key of a ConfigMap or a Secret."""
    wrong = []
    if len(value) > 253:
        wrong.append(max_length(253))
    if not _CONFIG_KEY.fullmatch(value):
        message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        wrong.append(regex_text(message, "[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name"))
    return wrong + _directory(value)


def _directory(value: str) -> list[str]:
    if value == ".":
        return ["must not be '.'"]
    if value == "..":
        return ["must not be '..'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def dns_subdomain_with_underscores(value: str) -> list[str]:
    wrong = [max_length(253)] if len(value) > 253 else []
    if not _UNDERSCORED.fullmatch(value):
        message = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        wrong.append(regex_text(message, _UNDERSCORED.pattern, "example.com"))
    return wrong


def parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Go's ParseIPSloppy: leading zeros in IPv4 octets are decimal; no zones."""
    if "%" in value:
        return None
    head, dot, tail = value.rpartition(":")
    if "." in tail:
        octets = tail.split(".")
        if not all(o.isascii() and o.isdigit() for o in octets):
            return None
        value = head + dot + ".".join(str(int(o)) for o in octets)
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def ip(value: str) -> list[str]:
    return [] if parse_ip(value) is not None else ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]


def cidr(value: str) -> list[str]:
    address, _, bits = value.partition("/")
    parsed = parse_ip(address)
    if parsed is None or not (bits.isascii() and bits.isdigit()) or int(bits) > parsed.max_prefixlen:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    return []
