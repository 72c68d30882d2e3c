"""String formats of custom schemas, as kube-openapi's ``strfmt`` checks them; formats that it does
not know are not checked.

The name of a format is compared without its dashes ("date-time" is "datetime").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import parseaddr

from apiserver.golang.math import MAX_INT64, MIN_INT64
from apiserver.golang.netip import is_cidr_sloppy, parse_ip_sloppy
from apiserver.golang.regexp import matches
from apiserver.golang.time import parse_duration
from apiserver.golang.url import UrlError, parse_request_uri

Check = Callable[[str], bool]


def check_of(name: str) -> Check | None:
    """The check of a format, None for one that is unknown."""
    return _CHECKS.get(name.replace("-", ""))


def recognized(type_: str, name: str) -> bool:
    """Whether a schema of that type ("" for several) may have the format; the others only earn a
    warning."""
    if type_ in ("", "string"):
        return check_of(name) is not None
    return name in _NUMBERS.get(type_, ())


_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _matches(pattern: str) -> Check:
    def check(text: str) -> bool:
        return matches(pattern, text)

    return check


_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12}$"
_HEX4, _VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
_BYTE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)"
    r"(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_CARD = (
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
)


def _uri(text: str) -> bool:
    """Go's url.ParseRequestURI: absolute, or a path."""
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


_ATOM = r"[^\x00-\x20()<>\[\]:;@\\,\".]+"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'


def _email(text: str) -> bool:
    """Go's mail.ParseAddress, near enough: one address, with or without a name."""
    bare = text.strip()
    if m := re.fullmatch(rf"({_QUOTED})@(.*)", bare):
        return _mail_domain(m[2])
    _, address = parseaddr(text)
    local, at, domain = address.rpartition("@")
    if not at or "\n" in text or not (bare == address or bare.endswith(f"<{address}>")):
        return False
    return re.fullmatch(rf"{_QUOTED}|{_ATOM}(\.{_ATOM})*", local) is not None and _mail_domain(
        domain
    )


def _mail_domain(text: str) -> bool:
    if not text or ".." in text or text.startswith(".") or text.endswith("."):
        return False
    return re.search(r"[\x00-\x20()<>\\,;:@\"]", text) is None


def _hostname(text: str) -> bool:
    return (
        _HOSTNAME_CHECK(text)
        and len(text.encode()) <= 255
        and all(len(p.encode()) <= 63 for p in text.split("."))
    )


_HOSTNAME_CHECK = _matches(_HOSTNAME)


def _v4(text: str) -> bool:
    """An IPv6 address with an embedded IPv4 one counts as IPv4 too: it has dots."""
    return "." in text and parse_ip_sloppy(text) is not None


def _v6(text: str) -> bool:
    return ":" in text and parse_ip_sloppy(text) is not None


def _mac(text: str) -> bool:
    """Go's net.ParseMAC: 6, 8 or 20 octets."""
    for octets in (6, 8, 20):
        for sep in (":", "-"):
            if re.fullmatch(rf"[0-9a-fA-F]{{2}}({sep}[0-9a-fA-F]{{2}}){{{octets - 1}}}", text):
                return True
        if re.fullmatch(rf"[0-9a-fA-F]{{4}}(\.[0-9a-fA-F]{{4}}){{{octets // 2 - 1}}}", text):
            return True
    return False


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{9}[0-9X]", digits, re.ASCII) is None:
        return False
    total = sum((i + 1) * int(c) for i, c in enumerate(digits[:9])) + 10 * (
        10 if digits[9] == "X" else int(digits[9])
    )
    return total % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{13}", digits, re.ASCII) is None:
        return False
    total = sum(int(c) * (1, 3)[i % 2] for i, c in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


def _card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD_CHECK(digits):
        return False
    total = 0
    for i, c in enumerate(reversed(digits)):
        n = int(c) * (2 if i % 2 else 1)
        total += n % 10 + 1 if n >= 10 else n
    return total % 10 == 0


_CARD_CHECK = _matches(_CARD)
_SSN = _matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$")


def _date(text: str) -> bool:
    m = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    if m is None:
        return False
    year, month, day = map(int, m.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


def _datetime(text: str) -> bool:
    date, t, time = text.lower().partition("t")
    m = re.fullmatch(
        r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))",
        time.split("t", 1)[0],
        re.ASCII,
    )
    return (
        bool(t) and _date(date) and m is not None and m[1] <= "23" and m[2] <= "59" and m[3] <= "59"
    )


_UNITS = (
    (1, ("ns", "nano")),
    (10**3, ("us", "µs", "micro")),
    (10**6, ("ms", "milli")),
    (10**9, ("s", "sec")),
    (60 * 10**9, ("m", "min")),
    (3600 * 10**9, ("h", "hr", "hour")),
    (86400 * 10**9, ("d", "day")),
    (604800 * 10**9, ("w", "wk", "week")),
)
_SPELLED = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)


def spelled_duration(text: str) -> int | None:
    """Nanoseconds of Go's durations, and of Scala's ("22 ns", "1 day 2 hours"), of which all parts
    count and what stands between them does not (kube-openapi ``strfmt.ParseDuration``). None: it is
    none."""
    try:
        return parse_duration(text)
    except ValueError:
        pass
    total: int | None = None
    for factor, unit in _SPELLED.findall(text):
        if len(factor) > 19 or int(factor) > MAX_INT64:
            return None
        low = unit.lower()
        for scale, variants in _UNITS:
            if low in variants or low.startswith(variants[-1]):
                total = (total or 0) + int(factor) * scale
    return None if total is None else (total - MIN_INT64) % 2**64 + MIN_INT64  # as int64 wraps


def _duration(text: str) -> bool:
    return spelled_duration(text) is not None


_CHECKS: dict[str, Check] = {
    "bsonobjectid": _matches("^[0-9a-fA-F]{24}$"),
    "uri": _uri,
    "email": _email,
    "hostname": _hostname,
    "ipv4": _v4,
    "ipv6": _v6,
    "cidr": is_cidr_sloppy,
    "mac": _mac,
    "uuid": _matches(_UUID % (_HEX4, _HEX4)),
    "uuid3": _matches(_UUID % ("3[0-9a-f]{3}", _HEX4)),
    "uuid4": _matches(_UUID % ("4[0-9a-f]{3}", _VARIANT)),
    "uuid5": _matches(_UUID % ("5[0-9a-f]{3}", _VARIANT)),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _card,
    "ssn": lambda text: len(text) == 11 and _SSN(text),
    "hexcolor": _matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": _matches(rf"^rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)$"),
    "byte": _matches(
        r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"
    ),
    "password": lambda text: True,
    "date": _date,
    "datetime": _datetime,
    "duration": _duration,
    "k8sshortname": lambda text: len(text) <= 63 and re.fullmatch(_LABEL, text) is not None,
    "k8slongname": lambda text: (
        len(text) <= 253 and re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", text) is not None
    ),
}
