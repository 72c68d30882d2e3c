"""ClaimRules: the user that the claims of a verified token stand for, and whether the configuration
wants such a token and such a user.

Sources: k8s.io/apiserver ``authentication/cel``, ``plugin/pkg/authenticator/token/oidc``.
Expressions cost at most what a rule of a definition may
(`apiserver.cel.plan.program`), and all of one token together a second of processor time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from apiserver.authn import tokenclaims
from apiserver.authn.accountclaims import Refused
from apiserver.authn.configuration import (
    ClaimRule,
    Configuration,
    ConfigurationError,
    Jwt,
    Mapped,
    Seen,
    anonymous_errors,
    issuer_errors,
    repeated_errors,
    too_many_issuers,
)
from apiserver.cel.env import Env
from apiserver.cel.errors import CelError
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.policies import RecordType
from apiserver.cel.plan.program import Program, compile_fresh, error_text, patience, unmade
from apiserver.cel.syntax import ast
from apiserver.cel.types import ANY, BOOL, DYN, STRING, Type, list_type, map_type, struct_type
from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    domain_prefixed_path,
    duplicate,
    invalid,
    required,
)
from apiserver.golang.strconv import go_quote
from apiserver.user import CREDENTIAL_ID, User, authenticated

_STRINGS = list_type(STRING)
_USER = RecordType(
    "kubernetes.UserInfo",
    {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": map_type(STRING, _STRINGS)},
)
CLAIMS_ENV: Final[Env] = BASE.extend({"claims": map_type(STRING, ANY)}, {})
USER_ENV: Final[Env] = BASE.extend({"user": struct_type(_USER.name)}, {_USER.name: _USER})
PATIENCE = 1.0
_RESERVED = ("kubernetes.io", "k8s.io")
_VERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
    "claims.email is used in claimMappings.username.expression"
)


class ClaimRules:
    """Of one authenticator. everywhere: its users are the installation's (`User.everywhere`);
    expressions: how many there are."""

    def __init__(self, jwt: Jwt, everywhere: bool) -> None:
        """``jwt``: one without errors."""
        self._jwt, self._everywhere = jwt, everywhere
        self._username, self._groups, self._uid = (
            _compiled(CLAIMS_ENV, mapped.expression)
            for mapped in (jwt.username, jwt.groups, jwt.uid)
        )
        self._extra = [(e.key, _compiled(CLAIMS_ENV, e.expression)) for e in jwt.extra]
        self._rules = [
            (_compiled(CLAIMS_ENV, rule.expression), rule.message)
            for rule in jwt.claim_rules
            if rule.expression
        ]
        self._users = [(_compiled(USER_ENV, r.expression), r.message) for r in jwt.user_rules]
        mapped = [p for p in (self._username, self._groups, self._uid) if p is not None]
        self.expressions = len([*mapped, *self._extra, *self._rules, *self._users])

    def user(self, claims: Mapping[str, Any]) -> User:
        """Raises Refused."""
        variables = {"claims": tokenclaims.of_claims(claims)}
        with patience(PATIENCE):
            user = self._user(claims, variables)
            for rule in self._jwt.claim_rules:
                if rule.claim:
                    _require(claims, rule)
            what = "oidc: error evaluating claim validation expression"
            _check(self._rules, variables, what)
            user_info = {
                "username": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": tokenclaims.Escaped({n: list(v) for n, v in user.extra.items()}),
            }
            what = "oidc: error evaluating user info validation rule"
            _check(self._users, {"user": user_info}, what)
        groups = authenticated(user.groups, user.name)
        return User(user.name, user.uid, groups, user.extra, self._everywhere)

    def _user(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> User:
        name = self._name(claims, variables)
        groups = self._groups_of(claims, variables)
        uid = self._uid_of(claims, variables)
        extra: dict[str, tuple[str, ...]] = {}
        if (jti := claims.get("jti")) and isinstance(jti, str):
            extra[CREDENTIAL_ID] = (f"JTI={jti}",)
        values = [(key, p, _value(p, variables, "")) for key, p in self._extra if p is not None]
        for key, program, value in values:
            what = f"oidc: error evaluating extra claim expression: {program.source}"
            if texts := _texts(value, what):
                extra[key] = texts
        return User(name, uid, groups, extra)

    def _name(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
        if self._username is not None:
            what = "oidc: error evaluating username claim expression"
            name = _value(self._username, variables, what)
            if not isinstance(name, str):
                raise Refused(f"{what}: username claim expression must return a string")
            if not name:
                raise Refused("oidc: empty username via CEL expression is not allowed")
            return name
        mapped = self._jwt.username
        what = f"oidc: parse username claims {go_quote(mapped.claim)}"
        name = tokenclaims.text(claims, mapped.claim, what)
        if mapped.claim == "email" and "email_verified" in claims:
            what = "oidc: parse 'email_verified' claim"
            if not tokenclaims.flag(claims, "email_verified", what):
                raise Refused("oidc: email not verified")
        if not name:
            raise Refused("oidc: the username claim is empty")
        return (mapped.prefix or "") + name

    def _groups_of(
        self, claims: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> tuple[str, ...]:
        mapped = self._jwt.groups
        if mapped.claim and mapped.claim in claims:
            what = f"oidc: parse groups claim {go_quote(mapped.claim)}"
            held = tokenclaims.texts(claims, mapped.claim, what)
            return tuple((mapped.prefix or "") + group for group in held)
        if self._groups is None:
            return ()
        what = "oidc: error evaluating group claim expression"
        return _texts(_value(self._groups, variables, what), what)

    def _uid_of(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
        mapped = self._jwt.uid
        if mapped.claim:
            what = f"oidc: parse uid claim {go_quote(mapped.claim)}"
            return tokenclaims.text(claims, mapped.claim, what)
        if self._uid is None:
            return ""
        what = "oidc: error evaluating uid claim expression"
        uid = _value(self._uid, variables, what)
        if not isinstance(uid, str):
            raise Refused(f"{what}: uid claim expression must return a string")
        return uid


def _compiled(env: Env, source: str) -> Program | None:
    program = compile_fresh(env, source) if source else None
    assert program is None or isinstance(program, Program), "the configuration has no errors"
    return program


def _value(program: Program, variables: Mapping[str, Any], what: str) -> Any:
    try:
        return program.evaluate(variables)
    except CelError as e:
        text = f"expression '{program.source}' resulted in error: {e.message}"
        raise Refused(f"{what}: {text}" if what else text) from None


def _check(
    rules: Sequence[tuple[Program | None, str]], variables: Mapping[str, Any], what: str
) -> None:
    """All are evaluated before the first that says no counts. Raises Refused."""
    results = [(p, message, _value(p, variables, what)) for p, message in rules if p is not None]
    for program, message, value in results:
        if value is not True:
            text = f"validation expression '{program.source}' failed: {message}"
            raise Refused(f"{what}: {text}")


def _require(claims: Mapping[str, Any], rule: ClaimRule) -> None:
    if rule.claim not in claims:
        raise Refused(f"oidc: required claim {rule.claim} not present in ID token")
    value = tokenclaims.text(claims, rule.claim, f"oidc: parse claim {rule.claim}")
    if value != rule.required_value:
        text = f"value does not match. Got = {value}, want = {rule.required_value}"
        raise Refused(f"oidc: required claim {rule.claim} {text}")


def _texts(value: Any, what: str) -> tuple[str, ...]:
    """A string, strings, or nothing; empty ones are nothing."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise Refused(f"{what}: expression must return a string or a list of strings")
    return tuple(v for v in value if v)


# --- what is wrong with a configuration -----------------------------------------------------------
def check(configuration: Configuration, disallowed: Collection[str] = ()) -> None:
    """``disallowed``: issuers of this server's own. Raises ConfigurationError."""
    errors = too_many_issuers(configuration)
    seen = Seen()
    for i, jwt in enumerate(configuration.jwt if not errors else ()):
        path = FieldPath("jwt").at(i)
        errors += issuer_errors(jwt.issuer, path.child("issuer"), disallowed)
        errors += _Expressions(jwt, path).errors()
        errors += repeated_errors(jwt.issuer, path.child("issuer"), seen)
    errors += anonymous_errors(configuration.anonymous)
    if errors:
        texts = [str(error) for error in errors]
        raise ConfigurationError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


class _Expressions:
    """vouching: expressions that may look at whether an address is verified."""

    def __init__(self, jwt: Jwt, path: FieldPath) -> None:
        self._jwt, self._path = jwt, path
        self._vouching: list[Program] = []

    def errors(self) -> FieldErrors:
        jwt, path = self._jwt, self._path
        maps = path.child("claimMappings")
        errors = self._claim_rules(path.child("claimValidationRules"))
        name, problems = self._mapped(jwt.username, maps.child("username"), needed=True)
        errors += problems
        name = None if problems else name
        errors += self._mapped(jwt.groups, maps.child("groups"))[1]
        errors += self._uid(maps.child("uid"))
        errors += self._extra(maps.child("extra"))
        vouching = [*self._vouching, *([name] if name is not None else [])]
        vouched = any(_asks_for(program, "email_verified") for program in vouching)
        if name is not None and _asks_for(name, "email") and not vouched:
            at = maps.child("username", "expression")
            errors.append(invalid(at, jwt.username.expression, _VERIFIED))
        return errors + self._user_rules(path.child("userValidationRules"))

    def _claim_rules(self, path: FieldPath) -> FieldErrors:
        errors, claims, sources = FieldErrors(), set[str](), set[str]()
        for i, rule in enumerate(self._jwt.claim_rules):
            at = path.at(i)
            if rule.claim and rule.expression:
                errors.append(invalid(at, rule.claim, "claim and expression can't both be set"))
            elif rule.claim:
                if rule.message:
                    text = "may not be specified when claim is set"
                    errors.append(invalid(at.child("message"), rule.message, text))
                if rule.claim in claims:
                    errors.append(duplicate(at.child("claim"), rule.claim))
                claims.add(rule.claim)
            elif not rule.expression:
                errors.append(required(at, "claim or expression is required"))
            else:
                if rule.required_value:
                    text = "may not be specified when expression is set"
                    errors.append(invalid(at.child("requiredValue"), rule.required_value, text))
                errors += self._once(CLAIMS_ENV, rule.expression, at.child("expression"), sources)
        return errors

    def _once(self, env: Env, source: str, path: FieldPath, seen: set[str]) -> FieldErrors:
        """Of an expression that must be a boolean, and come once."""
        if source in seen:
            return [duplicate(path, source)]
        seen.add(source)
        program, errors = _compile(env, source, path, BOOL)
        if program is not None and env is CLAIMS_ENV:
            self._vouching.append(program)
        return errors

    def _mapped(
        self, mapped: Mapped, path: FieldPath, *, needed: bool = False
    ) -> tuple[Program | None, FieldErrors]:
        if mapped.expression and mapped.claim:
            return None, [invalid(path, "", "claim and expression can't both be set")]
        if mapped.expression:
            at = path.child("expression")
            program, errors = _compile(CLAIMS_ENV, mapped.expression, at)
            if mapped.prefix is not None:
                text = "may not be specified when expression is set"
                errors.insert(0, invalid(path.child("prefix"), mapped.prefix, text))
            return program, errors
        if mapped.claim and mapped.prefix is None:
            text = (
                "prefix is required when claim is set. It can be set to an empty string to disable "
                "prefixing"
            )
            return None, [required(path.child("prefix"), text)]
        if needed and not mapped.claim:
            return None, [required(path, "claim or expression is required")]
        return None, []

    def _uid(self, path: FieldPath) -> FieldErrors:
        uid = self._jwt.uid
        if uid.claim and uid.expression:
            return [invalid(path, "", "claim and expression can't both be set")]
        if not uid.expression:
            return []
        return _compile(CLAIMS_ENV, uid.expression, path.child("expression"))[1]

    def _extra(self, path: FieldPath) -> FieldErrors:
        errors, seen = FieldErrors(), set[str]()
        for i, extra in enumerate(self._jwt.extra):
            key, value = path.at(i).child("key"), path.at(i).child("valueExpression")
            errors += _key_errors(extra.key, key)
            if extra.key in seen:
                errors.append(duplicate(key, extra.key))
                continue
            seen.add(extra.key)
            if not extra.expression:
                errors.append(required(value))
                continue
            program, problems = _compile(CLAIMS_ENV, extra.expression, value)
            errors += problems
            if program is not None:
                self._vouching.append(program)
        return errors

    def _user_rules(self, path: FieldPath) -> FieldErrors:
        errors, seen = FieldErrors(), set[str]()
        for i, rule in enumerate(self._jwt.user_rules):
            at = path.at(i).child("expression")
            if not rule.expression:
                errors.append(required(at))
            else:
                errors += self._once(USER_ENV, rule.expression, at, seen)
        return errors


def _key_errors(key: str, path: FieldPath) -> Iterator[Any]:
    yield from domain_prefixed_path(key, path)
    if key != key.lower():
        yield invalid(path, key, "must be lowercase")
    domain = key.partition("/")[0] if "/" in key else ""
    if any(domain == own or domain.endswith(f".{own}") for own in _RESERVED):
        text = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
        yield invalid(path, key, text)


def _compile(
    env: Env, source: str, path: FieldPath, result: Type = DYN
) -> tuple[Program | None, FieldErrors]:
    program = compile_fresh(env, source)
    if not isinstance(program, Program):
        text = "compilation failed: " + error_text(source, program)
        return None, [invalid(path, source, text)]
    if result is not DYN and program.type != result:
        return None, [invalid(path, source, f"must evaluate to {result.name}")]
    if why := unmade(program):
        return None, [invalid(path, source, why)]
    return program, []


def _asks_for(program: Program, claim: str) -> bool:
    """Whether ``claims.NAME`` stands in the expression."""
    return any(_is_claim(node, claim) for node in _nodes(program.tree))


def _is_claim(node: Any, claim: str) -> bool:
    if isinstance(node, ast.Select):
        return node.field == claim and _is_claims(node.operand)
    if isinstance(node, ast.Call) and node.function == "_?._" and len(node.args) == 2:
        field = node.args[1]
        named = isinstance(field, ast.Literal) and field.value == claim
        return named and _is_claims(node.args[0])
    return False


def _is_claims(node: Any) -> bool:
    return isinstance(node, ast.Ident) and node.name.removeprefix(".") == "claims"


def _nodes(tree: Any) -> Iterator[Any]:
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, list):
            ahead += node
        elif isinstance(node, ast.Entry):
            ahead += [node.key, node.value]
        elif isinstance(node, ast.Expr):
            yield node
            slots = (s for of in type(node).__mro__ for s in getattr(of, "__slots__", ()))
            ahead += [getattr(node, name) for name in slots if name in _BELOW]


_BELOW = frozenset(
    {
        *("operand", "target", "args", "elements", "entries", "fields"),
        *("range", "init", "condition", "step", "result"),
    }
)
