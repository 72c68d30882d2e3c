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
dns_1035_label = _rule(names.dns1035_label)
path_segment = _rule(names.path_segment)
