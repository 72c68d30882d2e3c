"""AuthenticationConfiguration (apiserver.config.k8s.io): the document as data, and what is wrong
with it, in kube-apiserver's words.

Source: k8s.io/apiserver ``apis/apiserver/v1/types.go``, ``apis/apiserver/validation``. Expressions
are compiled in `apiserver.authn.claimrules`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509

from apiserver.authn.unreadable import UNREADABLE
from apiserver.codec import yaml
from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid, required, too_many
from apiserver.golang.pem import blocks
from apiserver.golang.url import UrlError, parse_url

VERSIONS = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
KIND = "AuthenticationConfiguration"
MOST_ISSUERS = 64
LARGEST = 1024 * 1024
"""Bytes of a document."""
_MATCH_ANY = "MatchAny"
_EGRESS = "egress selector is not supported by this server"


class ConfigurationError(ValueError):
    """The document cannot be used. The text names the fields and what is wrong with them."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """ca: certificates in PEM, "" for the system's."""

    url: str = ""
    discovery_url: str = ""
    ca: str = ""
    audiences: tuple[str, ...] = ()
    match_policy: str = ""
    egress: str = ""

    @property
    def discovery(self) -> str:
        return (
            self.discovery_url or self.url.removesuffix("/") + "/.well-known/openid-configuration"
        )


@dataclass(frozen=True, slots=True)
class ClaimRule:
    claim: str = ""
    required_value: str = ""
    expression: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Mapped:
    """Where an attribute of the user comes from. prefix: None where none is given."""

    claim: str = ""
    prefix: str | None = None
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    key: str = ""
    expression: str = ""


@dataclass(frozen=True, slots=True)
class UserRule:
    expression: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Jwt:
    """One authenticator of the list."""

    issuer: Issuer = Issuer()
    claim_rules: tuple[ClaimRule, ...] = ()
    username: Mapped = Mapped()
    groups: Mapped = Mapped()
    uid: Mapped = Mapped()
    extra: tuple[Extra, ...] = ()
    user_rules: tuple[UserRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Who may come without a credential. paths: the only ones, where there are any."""

    enabled: bool = True
    paths: tuple[str, ...] = ()

    def admits(self, path: str) -> bool:
        return self.enabled and (not self.paths or path in self.paths)


@dataclass(frozen=True, slots=True)
class Configuration:
    """anonymous: None where the document does not say."""

    jwt: tuple[Jwt, ...] = ()
    anonymous: Anonymous | None = None


def read(data: bytes) -> Configuration:
    """What the document says, right or wrong. Raises ConfigurationError for what is no such
    document, and for fields that there are not."""
    if len(data) > LARGEST:
        raise ConfigurationError(f"it has more than {LARGEST} bytes")
    try:
        document, repeated = yaml.loads(data)
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise ConfigurationError(str(e)) from None
    reader = _Reader(list(repeated))
    fields = reader.fields(document, FieldPath(""), "apiVersion", "kind", "jwt", "anonymous")
    if fields.get("apiVersion") not in VERSIONS or fields.get("kind") != KIND:
        raise ConfigurationError(f"it must be {KIND} of {VERSIONS[0]}")
    configuration = Configuration(
        tuple(reader.jwt(item, path) for item, path in reader.items(fields, FieldPath(""), "jwt")),
        reader.anonymous(fields.get("anonymous")),
    )
    if reader.problems:
        raise ConfigurationError("strict decoding error: " + ", ".join(reader.problems))
    return configuration


class _Reader:
    """problems: what is of the wrong type, and what nobody reads."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems

    def fields(self, value: Any, path: FieldPath, *names: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.problems.append(f'"{path or "document"}" must be an object')
            return {}
        unknown = [name for name in value if name not in names]
        self.problems += [f'unknown field "{path.child(str(name))}"' for name in unknown]
        return value

    def text(self, of: Mapping[str, Any], path: FieldPath, name: str) -> str:
        value = of.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.problems.append(f'"{path.child(name)}" must be a string')
            return ""
        return value

    def items(
        self, of: Mapping[str, Any], path: FieldPath, name: str
    ) -> Sequence[tuple[Any, FieldPath]]:
        value, at = of.get(name), path.child(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.problems.append(f'"{at}" must be a list')
            return []
        return [(item, at.at(i)) for i, item in enumerate(value)]

    def jwt(self, value: Any, path: FieldPath) -> Jwt:
        names = ("issuer", "claimValidationRules", "claimMappings", "userValidationRules")
        of = self.fields(value, path, *names)
        at = path.child("claimMappings")
        maps = self.fields(of.get("claimMappings"), at, "username", "groups", "uid", "extra")
        return Jwt(
            self._issuer(of.get("issuer"), path.child("issuer")),
            tuple(self._claim_rule(*i) for i in self.items(of, path, "claimValidationRules")),
            self._mapped(maps.get("username"), at.child("username"), "prefix"),
            self._mapped(maps.get("groups"), at.child("groups"), "prefix"),
            self._mapped(maps.get("uid"), at.child("uid")),
            tuple(self._extra(*i) for i in self.items(maps, at, "extra")),
            tuple(self._user_rule(*i) for i in self.items(of, path, "userValidationRules")),
        )

    def anonymous(self, value: Any) -> Anonymous | None:
        if value is None:
            return None
        path = FieldPath("anonymous")
        of = self.fields(value, path, "enabled", "conditions")
        enabled = of.get("enabled", False)
        if not isinstance(enabled, bool):
            self.problems.append('"anonymous.enabled" must be a boolean')
        paths = [
            self.text(self.fields(item, at, "path"), at, "path")
            for item, at in self.items(of, path, "conditions")
        ]
        return Anonymous(bool(enabled), tuple(paths))

    def _issuer(self, value: Any, path: FieldPath) -> Issuer:
        names = ("url", "discoveryURL", "certificateAuthority", "audiences")
        of = self.fields(value, path, *names, "audienceMatchPolicy", "egressSelectorType")
        items = self.items(of, path, "audiences")
        audiences = ["" if item is None else item for item, _ in items]
        if not all(isinstance(audience, str) for audience in audiences):
            self.problems.append(f'"{path.child("audiences")}" must be a list of strings')
            audiences = []
        return Issuer(
            url=self.text(of, path, "url"),
            discovery_url=self.text(of, path, "discoveryURL"),
            ca=self.text(of, path, "certificateAuthority"),
            audiences=tuple(audiences),
            match_policy=self.text(of, path, "audienceMatchPolicy"),
            egress=self.text(of, path, "egressSelectorType"),
        )

    def _claim_rule(self, value: Any, path: FieldPath) -> ClaimRule:
        names = ("claim", "requiredValue", "expression", "message")
        of = self.fields(value, path, *names)
        return ClaimRule(*(self.text(of, path, name) for name in names))

    def _mapped(self, value: Any, path: FieldPath, *more: str) -> Mapped:
        of = self.fields(value, path, "claim", "expression", *more)
        prefix = self.text(of, path, "prefix") if of.get("prefix") is not None else None
        return Mapped(self.text(of, path, "claim"), prefix, self.text(of, path, "expression"))

    def _extra(self, value: Any, path: FieldPath) -> Extra:
        of = self.fields(value, path, "key", "valueExpression")
        return Extra(self.text(of, path, "key"), self.text(of, path, "valueExpression"))

    def _user_rule(self, value: Any, path: FieldPath) -> UserRule:
        of = self.fields(value, path, "expression", "message")
        return UserRule(self.text(of, path, "expression"), self.text(of, path, "message"))


# --- what is wrong with it, but for expressions ---------------------------------------------------
@dataclass(slots=True)
class Seen:
    """URLs of the authenticators before this one in the list."""

    urls: set[str] = field(default_factory=set)
    discoveries: set[str] = field(default_factory=set)


def too_many_issuers(configuration: Configuration) -> FieldErrors:
    count = len(configuration.jwt)
    return [too_many(FieldPath("jwt"), count, MOST_ISSUERS)] if count > MOST_ISSUERS else []


def issuer_errors(issuer: Issuer, path: FieldPath, disallowed: Collection[str]) -> FieldErrors:
    """``disallowed``: issuers of this server's own."""
    url, discovery = path.child("url"), path.child("discoveryURL")
    errors = _url_errors(issuer.url, url, disallowed) if issuer.url else [required(url)]
    if issuer.discovery_url:
        if issuer.url and issuer.url.rstrip("/") == issuer.discovery_url.rstrip("/"):
            text = "discoveryURL must be different from URL"
            errors.append(invalid(discovery, issuer.discovery_url, text))
        errors += _url_errors(issuer.discovery_url, discovery, ())
    errors += _audience_errors(issuer, path)
    if issuer.ca and (why := _ca_problem(issuer.ca)):
        errors.append(invalid(path.child("certificateAuthority"), "<omitted>", why))
    if issuer.egress:
        errors.append(invalid(path.child("egressSelectorType"), issuer.egress, _EGRESS))
    return errors


def repeated_errors(issuer: Issuer, path: FieldPath, seen: Seen) -> FieldErrors:
    errors = []
    if issuer.url in seen.urls:
        errors.append(duplicate(path.child("url"), issuer.url))
    if issuer.discovery_url and issuer.discovery_url in seen.discoveries:
        errors.append(duplicate(path.child("discoveryURL"), issuer.discovery_url))
    seen.urls.add(issuer.url)
    seen.discoveries.add(issuer.discovery_url)
    return errors


def anonymous_errors(anonymous: Anonymous | None) -> FieldErrors:
    if anonymous is None or anonymous.enabled or not anonymous.paths:
        return []
    conditions = [{"Path": path} for path in anonymous.paths]
    text = "enabled should be set to true when conditions are defined"
    return [invalid("anonymous.conditions", conditions, text)]


def _url_errors(text: str, path: FieldPath, disallowed: Collection[str]) -> FieldErrors:
    errors = []
    if text in disallowed:
        listed = f"[{' '.join(sorted(disallowed))}]"
        why = f"URL must not overlap with disallowed issuers: {listed}"
        errors.append(invalid(path, text, why))
    try:
        url = parse_url(text)
    except UrlError as e:
        return [*errors, invalid(path, text, str(e))]
    wrong = {
        "URL scheme must be https": url.scheme != "https",
        "URL must not contain a username or password": url.user is not None,
        "URL must not contain a query": bool(url.query),
        "URL must not contain a fragment": bool(url.fragment),
    }
    return [*errors, *(invalid(path, text, why) for why, is_so in wrong.items() if is_so)]


def _audience_errors(issuer: Issuer, path: FieldPath) -> FieldErrors:
    at, seen, errors = path.child("audiences"), set[str](), FieldErrors()
    if not issuer.audiences:
        return [required(at, f"at least one {at} is required")]
    for i, audience in enumerate(issuer.audiences):
        if not audience:
            errors.append(required(at.at(i)))
        if audience in seen:
            errors.append(duplicate(at.at(i), audience))
        seen.add(audience)
    several = len(issuer.audiences) > 1
    policy, at = issuer.match_policy, path.child("audienceMatchPolicy")
    if several and policy != _MATCH_ANY:
        text = "audienceMatchPolicy must be MatchAny for multiple audiences"
        errors.append(invalid(at, policy, text))
    if not several and policy not in ("", _MATCH_ANY):
        text = "audienceMatchPolicy must be empty or MatchAny for single audience"
        errors.append(invalid(at, policy, text))
    return errors


def _ca_problem(pem: str) -> str:
    found = False
    for block in blocks(pem.encode()):
        if block.type != b"CERTIFICATE" or block.has_headers:
            continue
        try:
            x509.load_der_x509_certificate(block.data)
        except UNREADABLE:
            return "x509: malformed certificate"
        found = True
    return "" if found else "data does not contain any valid RSA or ECDSA certificates"
