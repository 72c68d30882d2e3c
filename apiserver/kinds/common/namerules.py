"""Kind.name_rule values: (name, is it a generateName) → complaints."""

from __future__ import annotations

from collections.abc import Callable

from apiserver.meta import names

NameRule = Callable[[str, bool], list[str]]


def _rule(validate: names.Validator) -> NameRule:
    in_prefix = names.in_prefix(validate)
    return lambda name, prefix: in_prefix(name) if prefix else validate(name)


dns_subdomain = _rule(names.dns1123_subdomain)
dns_label = _rule(names.dns1123_label)
path_segment = _rule(names.path_segment)


def anything(name: str, prefix: bool) -> list[str]:
    """For kinds that leave names to the rules for all (ValidateCertificateRequestName)."""
    return []


def long_name(name: str, prefix: bool) -> list[str]:
    """A DNS subdomain for kinds whose names are declared: a generated name is looked at when it is
    there, not before, and lengths are in bytes (ValidateObjectMetaWithOpts)."""
    return [] if prefix else names.in_bytes(names.dns1123_subdomain)(name)
