"""Kubernetes' functions on texts: regular expressions, URLs, named formats, JSON patch keys
(k8s.io/apiserver ``pkg/cel/library``)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date
from typing import Final

from apiserver.cel.decls import Overload, functions, overload
from apiserver.cel.errors import BudgetExceeded, EvalError
from apiserver.cel.library.regex import find_all
from apiserver.cel.types import struct_type
from apiserver.cel.values import NONE, Optional
from apiserver.effort import hold, spend
from apiserver.golang.url import Url, UrlError, parse_query, parse_request_uri, parse_url
from apiserver.meta import names

# --- regular expressions --------------------------------------------------------------------------


def _find(text: str, pattern: str) -> str:
    return "".join(find_all(text, pattern, 1))


REGEX = functions(
    overload("string_find_string", "string.find(string) -> string", _find),
    overload("string_find_all_string", "string.findAll(string) -> list(string)", find_all),
    overload("string_find_all_string_int", "string.findAll(string, int) -> list(string)", find_all),
)


# --- URLs -----------------------------------------------------------------------------------------
URL_TYPE: Final = struct_type("kubernetes.URL")


class URL:
    __slots__ = ("length", "url")
    cel_type: Final = URL_TYPE
    cel_unit_equality: Final = True

    def __init__(self, url: Url, length: int) -> None:
        self.url = url
        self.length = length

    def read(self) -> Url:
        """The URL, for whoever goes through its text."""
        spend(_URL_STEPS * self.length)
        return self.url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and str(other.read()) == str(self.read())

    def __hash__(self) -> int:
        return hash(str(self.url))


_URL_STEPS = 10
"""A character of a URL."""
_PAIR = 400
"""Bytes of a member of a query."""


def _url(text: str) -> URL:
    spend(2 * _URL_STEPS * len(text))
    try:
        parse_request_uri(text)
        return URL(parse_url(text), len(text))
    except UrlError as e:
        raise EvalError(f"URL parse error during conversion from string: {e}") from None


def _query(url: URL) -> dict[str, list[str]]:
    raw = url.read().query
    hold(_PAIR * (raw.count("&") + 1) + 8 * len(raw))
    return parse_query(raw)


def _is_url(text: str) -> bool:
    spend(_URL_STEPS * len(text))
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


_T = {"URL": URL_TYPE}
URLS = functions(
    overload("string_to_url", "url(string) -> URL", _url, _T),
    overload("url_get_scheme", "URL.getScheme() -> string", lambda u: u.url.scheme, _T),
    overload("url_get_host", "URL.getHost() -> string", lambda u: u.url.host, _T),
    overload("url_get_hostname", "URL.getHostname() -> string", lambda u: u.url.hostname, _T),
    overload("url_get_port", "URL.getPort() -> string", lambda u: u.url.port, _T),
    overload(
        "url_get_escaped_path",
        "URL.getEscapedPath() -> string",
        lambda u: u.read().escaped_path,
        _T,
    ),
    overload("url_get_query", "URL.getQuery() -> map(string, list(string))", _query, _T),
    overload("is_url_string", "isURL(string) -> bool", _is_url),
)


# --- named formats --------------------------------------------------------------------------------
FORMAT_TYPE: Final = struct_type("kubernetes.NamedFormat")
_FORMAT_STEPS = 8
"""A character."""
_LONGEST = 256 * 1024
"""Characters of what may be of a format: a check is one call that nothing breaks off."""


class Format:
    """name; check: gives what is wrong with a text; max_regex_size: for its cost."""

    __slots__ = ("check", "max_regex_size", "name")
    cel_type: Final = FORMAT_TYPE
    cel_unit_equality: Final = True

    def __init__(self, name: str, check: Callable[[str], list[str]], max_regex_size: int) -> None:
        self.name = name
        self.check = check
        self.max_regex_size = max_regex_size

    def validate(self, text: str) -> Optional:
        spend(_FORMAT_STEPS * len(text))
        if len(text) > _LONGEST and self.name != "byte":
            raise BudgetExceeded
        errors = self.check(text)
        return Optional(errors) if errors else NONE


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as e:
        return [str(e)]
    return []


_UUID_PATTERN = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_DATETIME_PATTERN = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"


def _uuid(text: str) -> list[str]:
    return (
        []
        if re.search(_UUID_PATTERN, text) and not text.endswith("\n")
        else ["does not match the UUID format"]
    )


def _byte(text: str) -> list[str]:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return [] if decoded else ["invalid base64"]


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return text.startswith("0000-")
    return True


def _is_datetime(text: str) -> bool:
    """strfmt.IsDateTime: a date, ``t``, a clock within its bounds."""
    day, t, clock = text.lower().partition("t")
    if len(text) < 4 or not t or not _is_date(day):
        return False
    m = re.search(_DATETIME_PATTERN, clock)
    return m is not None and int(m[1]) <= 23 and int(m[2]) <= 59 and int(m[3]) <= 59


FORMATS: Final = {
    "dns1123Label": Format("DNS1123Label", names.dns1123_label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.dns1123_subdomain, 60),
    "dns1035Label": Format("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", names.qualified_name, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", names.in_prefix(names.dns1123_label), 30),
    "dns1123SubdomainPrefix": Format(
        "DNS1123SubdomainPrefix", names.in_prefix(names.dns1123_subdomain), 60
    ),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", names.in_prefix(names.dns1035_label), 30),
    "labelValue": Format("LabelValue", names.label_value, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _uuid, len(_UUID_PATTERN)),
    "byte": Format("byte", _byte, 84),
    "date": Format(
        "date", lambda s: [] if _is_date(s) else ["invalid date"], len(_DATETIME_PATTERN)
    ),
    "datetime": Format(
        "datetime",
        lambda s: [] if _is_datetime(s) else ["invalid datetime"],
        len(_DATETIME_PATTERN),
    ),
}

_F = {"Format": FORMAT_TYPE}


def _named(name: str) -> Optional:
    formatter = FORMATS.get(name)
    return Optional(formatter) if formatter is not None else NONE


def _constants() -> list[Overload]:
    return [
        overload(f"format.{name}", f"format.{name}() -> Format", lambda f=f: f, _F)
        for name, f in FORMATS.items()
    ]


FORMAT_FUNCTIONS = functions(
    overload(
        "format-validate", "Format.validate(string) -> optional(list(string))", Format.validate, _F
    ),
    overload("format-named", "format.named(string) -> optional(Format)", _named, _F),
    *_constants(),
)

JSON_PATCH = functions(
    overload(
        "string_jsonpatch_escapeKey_string",
        "jsonpatch.escapeKey(string) -> string",
        lambda key: key.replace("~", "~0").replace("/", "~1"),
    ),
)
