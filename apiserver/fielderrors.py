"""Field errors: what is wrong with one field of an object, as data (k8s.io/apimachinery, package
``util/validation/field``).

A validator returns a list of FieldError. `apiserver.errors.Invalid` turns the list into a Status
with one cause each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from apiserver.golang.fmt import go_number
from apiserver.golang.json import escape_html
from apiserver.golang.strconv import go_quote
from apiserver.meta import names


class FieldPath(str):
    """A path as clients read it: ``spec.containers[0].name``, ``metadata.labels[app]``. A plain
    string with three ways to go on."""

    __slots__ = ()

    def child(self, *names: str) -> FieldPath:
        tail = ".".join(names)
        return FieldPath(f"{self}.{tail}" if self else tail)

    def at(self, i: int) -> FieldPath:
        return FieldPath(f"{self}[{i}]")

    def key(self, k: object) -> FieldPath:
        return FieldPath(f"{self}[{k}]")


class ErrorType(Enum):
    """value: the cause's ``reason``; label: how the message begins."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TOO_FEW = "FieldValueTooFew"
    TOO_SHORT = "FieldValueTooShort"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TOO_FEW: "Too few",
    ErrorType.TOO_SHORT: "Too short",
    ErrorType.INTERNAL: "Internal error",
    ErrorType.TYPE_INVALID: "Invalid value",
}

_WITHOUT_VALUE = {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL}


class GoSyntax(str):
    """A bad value that prints as it is, where kube-apiserver prints Go syntax that JSON cannot
    express. An empty one is left out."""


def format_value(value: Any) -> str:
    """A bad value as the message quotes it: strings as Go's %q, numbers and booleans bare,
    everything else as compact JSON."""
    if isinstance(value, GoSyntax):
        return str(value)
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return go_number(value)
    return go_json(value, sort_keys=True)


def go_json(value: Any, *, sort_keys: bool = False) -> str:
    """Compact JSON as Go's encoder writes it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=sort_keys)
    return escape_html(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


@dataclass(slots=True)
class FieldError:
    """type, path of the field (``<nil>`` prints for an empty path), the value found, and what would
    be right. origin: the declared rule that stands for a hand-written error, see
    apiserver.kinds.declarative.run; no part of what clients see."""

    type: ErrorType
    path: str
    value: Any = None
    detail: str = ""
    origin: str | None = field(default=None, compare=False, repr=False)

    def body(self) -> str:
        """The message without its path: what a Status cause carries."""
        label = self.type.label
        if self.type in _WITHOUT_VALUE or (isinstance(self.value, GoSyntax) and not self.value):
            text = label
        else:
            text = f"{label}: {format_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.path or '<nil>'}: {self.body()}"


FieldErrors = list[FieldError]


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, path, None, detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, path, value, detail)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(ErrorType.TYPE_INVALID, path, value, detail)


def not_supported(path: str, value: Any, supported: list[str]) -> FieldError:
    """``supported`` in the order in which kube-apiserver lists them (most validators sort)."""
    detail = f"supported values: {', '.join(go_quote(s) for s in supported)}" if supported else ""
    return FieldError(ErrorType.NOT_SUPPORTED, path, value, detail)


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, path, None, detail)


def internal(path: str, detail: str) -> FieldError:
    return FieldError(ErrorType.INTERNAL, path, None, detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, path, value)


def not_found(path: str, value: Any) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, path, value)


def too_long(path: str, max_bytes: int) -> FieldError:
    detail = (
        f"may not be more than {max_bytes} byte{'' if max_bytes == 1 else 's'}"
        if max_bytes >= 0
        else "value is too long"
    )
    return FieldError(ErrorType.TOO_LONG, path, None, detail)


def too_many(path: str, actual: int, maximum: int) -> FieldError:
    detail = (
        f"must have at most {maximum} item{'' if maximum == 1 else 's'}"
        if maximum >= 0
        else "has too many items"
    )
    return FieldError(ErrorType.TOO_MANY, path, actual if actual >= 0 else GoSyntax(""), detail)


_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def domain_prefixed_path(value: str, path: FieldPath) -> Iterator[FieldError]:
    """``example.com/anything`` (k8s.io/apimachinery ``util/validation`` IsDomainPrefixedPath)."""
    if not value:
        yield required(path)
        return
    domain, slash, rest = value.partition("/")
    if not slash or not domain or not rest:
        yield invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    for text in names.dns1123_subdomain(domain):
        yield invalid(path, domain, text)
    if not _HTTP_PATH.fullmatch(rest):
        yield invalid(
            path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH.pattern}')"
        )
