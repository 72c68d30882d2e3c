"""Claims of an ID token, as kube-apiserver reads them: Go's encoding/json into the types that it
has for them, where null is nothing, and for expressions as values of CEL.

Sources: go-oidc's ``idToken``; k8s.io/apiserver ``plugin/pkg/authenticator/token/oidc`` and
``pkg/cel/escaping.go``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from apiserver.authn.accountclaims import Refused
from apiserver.cel.syntax.escaping import unescape
from apiserver.golang.json import type_name
from apiserver.golang.math import MAX_INT64, MIN_INT64
from apiserver.golang.strconv import go_quote

Claims = Mapping[str, Any]
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_LONGEST_NUMBER = 400
"""Characters of a time: no longer one is within a double's range, however it is written."""


class UnmarshalError(ValueError):
    """A claim is of another type than Go wants; the text is Go's."""


# --- those that every token is read for -----------------------------------------------------------
def check_registered(claims: Claims) -> None:
    """Whether those that go-oidc looks at are what they have to be, whether or not somebody asks
    for them. Raises UnmarshalError."""
    first = ""
    for name, value in claims.items():
        if name in ("sub", "nonce", "at_hash"):
            problem = "" if value is None else _mismatch(value, str, f"idToken.{name}")
        elif name in ("exp", "iat") or (name == "nbf" and value is not None):
            seconds(value, name)
            continue
        elif name == "aud":
            audiences(value)
            continue
        else:
            problem = _sources_problem(name, value)
        first = first or problem
    if first:
        raise UnmarshalError(f"failed to unmarshal claims: {first}")
    names, sources = claims.get("_claim_names") or {}, claims.get("_claim_sources") or {}
    for source in names.values():
        if not source:
            raise UnmarshalError("failed to obtain source from claim name")
        if source not in sources:
            raise UnmarshalError("source does not exist")


def seconds(value: Any, name: str) -> int:
    """A time since 1970, from a number or from a text with one. Raises UnmarshalError."""
    what = "failed to unmarshal claims: "
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        into = f"Go struct field idToken.{name} of type json.Number"
        raise UnmarshalError(f"{what}json: cannot unmarshal {type_name(value)} into {into}")
    if isinstance(value, str) and (len(value) > _LONGEST_NUMBER or not _NUMBER.fullmatch(value)):
        quoted = go_quote(go_quote(value[:_LONGEST_NUMBER]))
        text = f"invalid number literal, trying to unmarshal {quoted} into Number"
        raise UnmarshalError(f"{what}json: {text}")
    if value is None:
        raise UnmarshalError(f'{what}strconv.ParseFloat: parsing "": invalid syntax')
    if isinstance(value, str):
        value = int(value) if re.fullmatch("-?[0-9]+", value) else float(value)
    if not math.isfinite(value):
        raise UnmarshalError(f"{what}strconv.ParseFloat: value out of range")
    whole = math.trunc(value)
    return whole if MIN_INT64 <= whole <= MAX_INT64 else MIN_INT64


def audiences(value: Any) -> list[str]:
    """Whom a token is for. Raises UnmarshalError."""
    if isinstance(value, str) or value is None:
        return [value or ""]
    problem = _mismatch(value, list, "idToken.aud", "[]string")
    for audience in () if problem else value:
        if audience is not None:
            problem = problem or _mismatch(audience, str, "idToken.aud")
    if problem:
        raise UnmarshalError(f"failed to unmarshal claims: {problem}")
    return [audience or "" for audience in value]


def _sources_problem(name: str, value: Any) -> str:
    """Of the two claims that say who knows others."""
    if name not in ("_claim_names", "_claim_sources") or value is None:
        return ""
    at = f"idToken.{name}"
    if name == "_claim_names":
        problem = _mismatch(value, dict, at, "map[string]string")
        return problem or _first(_mismatch(v, str, at) for v in value.values() if v is not None)
    problem = _mismatch(value, dict, at, "map[string]oidc.claimSource")
    return problem or _first(_source_problem(v, at) for v in value.values() if v is not None)


def _source_problem(value: Any, at: str) -> str:
    if problem := _mismatch(value, dict, at, "oidc.claimSource"):
        return problem
    held = ((name, value.get(name)) for name in ("endpoint", "access_token"))
    of = "claimSource._claim_sources"
    return _first(_mismatch(v, str, f"{of}.{name}") for name, v in held if v is not None)


def _first(problems: Any) -> str:
    return next(filter(None, problems), "")


def _mismatch(value: Any, type_: type, field: str, go_type: str = "string") -> str:
    if isinstance(value, type_):
        return ""
    into = f"Go struct field {field} of type {go_type}"
    return f"json: cannot unmarshal {type_name(value)} into {into}"


# --- those that a configuration names -------------------------------------------------------------
def text(claims: Claims, name: str, what: str) -> str:
    """``what``: begins the text of Refused, which is raised for a claim that is absent or no
    string."""
    if name not in claims:
        raise Refused(f"{what}: claim not present")
    return "" if claims[name] is None else _value(claims[name], str, what)


def flag(claims: Claims, name: str, what: str) -> bool:
    """As `text`, of a boolean."""
    return claims[name] is not None and _value(claims[name], bool, what)


def texts(claims: Claims, name: str, what: str) -> list[str]:
    """As `text`, of strings, or of one alone; of a claim that is there."""
    value = claims[name]
    if value is None:
        return []
    if isinstance(value, list) and all(v is None or isinstance(v, str) for v in value):
        return [v or "" for v in value]
    return [_value(value, str, what)]


def _value(value: Any, type_: type, what: str) -> Any:
    if isinstance(value, type_):
        return value
    go_type = {str: "string", bool: "bool"}[type_]
    into = f"Go value of type {go_type}"
    raise Refused(f"{what}: json: cannot unmarshal {type_name(value)} into {into}")


# --- for expressions ------------------------------------------------------------------------------
class Escaped(dict[str, Any]):
    """A map whose members have the names of CEL's identifiers too: ``a__dot__b`` is ``a.b``. A name
    that is none of those stands for itself."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return dict.__getitem__(self, self._named(key))

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, self._named(key))

    def get(self, key: str, default: Any = None) -> Any:
        return dict.get(self, self._named(key), default)

    def _named(self, key: Any) -> Any:
        if not isinstance(key, str) or "__" not in key:
            return key
        name = unescape(key)
        return key if name is None else name


class _Outermost(Escaped):
    """What has no name after that is not there."""

    __slots__ = ()

    def _named(self, key: Any) -> Any:
        return unescape(key) if isinstance(key, str) and "__" in key else key


def of_claims(claims: Claims) -> Any:
    """The variable ``claims``. Numbers are doubles, as Go reads JSON."""
    return _Outermost({name: _as_in_go(value) for name, value in claims.items()})


def _as_in_go(value: Any) -> Any:
    if isinstance(value, dict):
        return Escaped({name: _as_in_go(member) for name, member in value.items()})
    if isinstance(value, list):
        return [_as_in_go(item) for item in value]
    return float(value) if type(value) is int else value
