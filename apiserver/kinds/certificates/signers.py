"""Names of signers: a domain and a path, as in ``example.com/signer`` (kubernetes
``pkg/apis/core/validation`` ValidateSignerName)."""

from __future__ import annotations

from collections.abc import Callable

from apiserver.fielderrors import FieldPath, invalid, required, too_long
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common import checks as c
from apiserver.meta import names

_LONGEST = 253 + len("/") + 63 + len(".") + 253
"""Bytes: a domain, a namespace and a name. A short domain leaves more for the path."""


def signer_name_errors(name: str, path: FieldPath) -> c.Errors:
    if not name:
        yield required(path)
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        yield invalid(
            path,
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        )
        return
    if len(domain) > 253:
        yield too_long(path, 253)
    yield from _labels(domain, path, names.dns1123_label)
    if "." not in domain:
        yield invalid(
            path, domain, "should be a domain with at least two segments separated by dots"
        )
    yield from _labels(rest, path, names.dns1123_subdomain)
    if len(name) > _LONGEST:
        yield too_long(path, _LONGEST)


def _labels(text: str, path: FieldPath, check: Callable[[str], list[str]]) -> c.Errors:
    """Only the first bad label is reported."""
    for label in text.split("."):
        wrong = check(label)
        for why in wrong:
            yield invalid(path, text, f"validating label {go_quote(label)}: {why}")
        if wrong:
            return
