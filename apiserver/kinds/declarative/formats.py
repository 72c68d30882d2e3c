"""format: the syntax of a string (k8s.io/apimachinery ``api/validate/strfmt.go``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, invalid, too_long
from apiserver.kinds.declarative.rules import DeclarationError, Rule, Run, leaf, tag
from apiserver.kinds.formats import ip
from apiserver.meta import names

Format = Callable[[FieldPath, str], Iterator[FieldError]]

_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_UUID_TEXT = "must be a lowercase UUID in 8-4-4-4-12 format"
_CASELESS_TEXT = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character"
)
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_CASELESS = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII)
_NATIVE, _REQUESTS = "kubernetes.io/", "requests."
_POOL_BYTES, _DOMAIN_BYTES, _ID_BYTES = 253, 63, 32


@tag("format", "stable")
def format(name: str) -> Rule:
    """``name``: one of FORMATS."""
    check = FORMATS.get(name)
    if check is None:
        raise DeclarationError(f"format: unsupported: {name}")

    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        return check(path, value) if value is not None else iter(())

    return leaf("format", call, argument=name, origin=f"format={name}", on=("string",))


def _texts(validate: names.Validator) -> Format:
    def check(path: FieldPath, value: str) -> Iterator[FieldError]:
        for text in validate(value):
            yield invalid(path, value, text)

    return check


def _caseless(value: str) -> list[str]:
    errors = [names.max_length_error(253, "bytes")] if len(value.encode()) > 253 else []
    if not _CASELESS.fullmatch(value):
        errors.append(names.regex_error(_CASELESS_TEXT, _SUBDOMAIN, "Example.com"))
    return errors


_long_name = names.in_bytes(names.dns1123_subdomain)


def _uuid(value: str) -> list[str]:
    return [] if _UUID.fullmatch(value) else [_UUID_TEXT]


def _pool_name(path: FieldPath, value: str) -> Iterator[FieldError]:
    if len(value.encode()) > _POOL_BYTES:
        yield too_long(path, _POOL_BYTES)
    for i, part in enumerate(value.split("/")):
        if not part:
            yield invalid(path, value, f"segment {i}: must not be empty")
            continue
        for text in _long_name(part):
            yield invalid(path, part, f"segment {i}: {text}")


def _extended_resource(path: FieldPath, value: str) -> Iterator[FieldError]:
    if "/" not in value:
        yield invalid(
            path, value, "a name must be a domain-prefixed path, such as 'example.com/my-prop'"
        )
    elif _NATIVE in value:
        yield invalid(path, value, f'must not have "{_NATIVE}" domain')
    if value.startswith(_REQUESTS):
        yield invalid(path, value, f'must not have "{_REQUESTS}" prefix')
    for text in names.label_key(_REQUESTS + value):
        yield invalid(path, value, text)


def _identifier(path: FieldPath, value: str) -> Iterator[FieldError]:
    if len(value.encode()) > _ID_BYTES:
        yield too_long(path, _ID_BYTES)
    for text in names.c_identifier(value):
        yield invalid(path, value, text)


def _fully_qualified(path: FieldPath, value: str) -> Iterator[FieldError]:
    parts = value.split("/")
    if len(parts) == 1:
        yield from _identifier(path, value)
        yield invalid(
            path, value, "a fully qualified name must be a domain and a name separated by a slash"
        )
    elif len(parts) == 2:
        domain, name = parts
        if not domain:
            yield invalid(path, "", "prefix must not be empty")
        elif len(domain.encode()) > _DOMAIN_BYTES:
            yield too_long(path, _DOMAIN_BYTES)
        for text in _long_name(domain) if domain else ():
            yield invalid(path, domain, f"prefix: {text}")
        if not name:
            yield invalid(path, "", "name must not be empty")
        else:
            yield from _identifier(path, name)


FORMATS: dict[str, Format] = {
    "k8s-extended-resource-name": _extended_resource,
    "k8s-ip": _texts(ip),
    "k8s-label-key": _texts(names.label_key),
    "k8s-label-value": _texts(names.label_value),
    "k8s-long-name": _texts(_long_name),
    "k8s-long-name-caseless": _texts(_caseless),
    "k8s-path-segment-name": _texts(names.path_segment),
    "k8s-resource-fully-qualified-name": _fully_qualified,
    "k8s-resource-pool-name": _pool_name,
    "k8s-short-name": _texts(names.in_bytes(names.dns1123_label)),
    "k8s-uuid": _texts(_uuid),
}
