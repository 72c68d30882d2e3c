"""unionMember, unionDiscriminator, zeroOrOneOfMember, discriminator, member: fields of a struct (or
items of a list) that hang together.

The tags stand at the members; each says its part to the Groups of what is around it, and the Groups
make the checks of that struct or list once all its members have spoken. Source: k8s.io/apimachinery
``api/validate`` (``union.go``, ``zeroorone.go``, ``discriminator.go``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, invalid
from apiserver.fielderrors import forbidden as forbidden_error
from apiserver.golang.strconv import go_quote
from apiserver.kinds.declarative.rules import (
    Check,
    DeclarationError,
    Finding,
    Rule,
    Run,
    Site,
    below,
    cohorts_of,
    finding,
    require_kind,
    run_cohorts,
    tag,
)
from apiserver.kinds.declarative.values import is_set, kind_of, nilable, read
from apiserver.meta.equality import semantic_equal
from apiserver.schema.types import Schema

IsSet = Callable[[Any], bool]

_GROUP = re.compile("[a-zA-Z][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Member:
    """name: as messages call it; value: of the discriminator that belongs to it; is_set: whether
    the struct (or list) has it."""

    name: str
    value: str
    is_set: IsSet


@dataclass(slots=True)
class Union:
    """at_most: zero members are fine too. discriminator: name and schema of the field that says
    which member there must be."""

    at_most: bool = False
    level: str = ""
    members: list[Member] = field(default_factory=list)
    discriminator: tuple[str, Schema] | None = None


@dataclass(slots=True)
class Mode:
    """Rules of fields by the value of a discriminator: field → (its site, [(value, rule,
    level)])."""

    discriminator: tuple[str, Schema] | None = None
    fields: dict[str, tuple[Site, list[tuple[str, Rule, str]]]] = field(default_factory=dict)


@dataclass(slots=True)
class Groups:
    """The unions and modes of one struct or list, by their names ("" for the only one)."""

    unions: dict[tuple[bool, str], Union] = field(default_factory=dict)
    modes: dict[str, Mode] = field(default_factory=dict)

    def union(self, name: str, *, at_most: bool) -> Union:
        return self.unions.setdefault((at_most, name), Union(at_most))

    def checks(self) -> list[Check]:
        all_checks: list[Check] = []
        for name, mode in sorted(self.modes.items()):
            if mode.discriminator is None:
                raise DeclarationError(f"member: missing discriminator {name}".rstrip())
            all_checks += [
                _mode_check(mode.discriminator, at, site, rules)
                for at, (site, rules) in sorted(mode.fields.items())
            ]
        return all_checks + [_union_check(union) for _, union in sorted(self.unions.items())]


@tag("unionMember", "stable")
def union_member(*, union: str = "", member_name: str = "") -> Rule:
    """``member_name``: the discriminator's value for this member, its Go name by default (here: the
    field's name with a capital)."""
    return Rule("unionMember", lambda site: _join(site, union, member_name, at_most=False))


@tag("zeroOrOneOfMember", "stable")
def zero_or_one_of_member(*, union: str = "") -> Rule:
    return Rule("zeroOrOneOfMember", lambda site: _join(site, union, "", at_most=True))


@tag("unionDiscriminator", "beta")
def union_discriminator(*, union: str = "") -> Rule:
    def build(site: Site) -> list[Check]:
        require_kind("unionDiscriminator", site.schema, ("string",))
        joined = _around(site).union(union, at_most=False)
        joined.discriminator, joined.level = (site.name, site.schema), site.level or joined.level
        return []

    return Rule("unionDiscriminator", build)


@tag("discriminator", "alpha", "modeDiscriminator")
def discriminator(*, name: str = "") -> Rule:
    if name and not _GROUP.fullmatch(name):
        raise DeclarationError(f"discriminator: group name must match {_GROUP.pattern}, got {name}")
    _not_reserved("discriminator", name)

    def build(site: Site) -> list[Check]:
        require_kind("discriminator", site.schema, ("string", "boolean", "integer"))
        if nilable(site.schema):
            raise DeclarationError("discriminator: can only be used on non-pointer types")
        mode = _around(site).modes.setdefault(name, Mode())
        if mode.discriminator is not None:
            raise DeclarationError(f"discriminator: duplicate discriminator: {name}")
        mode.discriminator = (site.name, site.schema)
        return []

    return Rule("discriminator", build)


@tag("member", "alpha", "ifMode")
def member(value: str, rule: Rule, *, discriminator: str = "") -> Rule:
    """``rule`` holds while the discriminator is ``value`` (numbers and booleans as text); with a
    value that no member() of this field names, the field is forbidden."""
    _not_reserved("member", discriminator)

    def build(site: Site) -> list[Check]:
        _no_plain_struct(site, "member")
        mode = _around(site).modes.setdefault(discriminator, Mode())
        mode.fields.setdefault(site.name, (site, []))[1].append((value, rule, site.level))
        return []

    return Rule("member", build, value, rule)


def _not_reserved(tag_name: str, group: str) -> None:
    if group == "default":
        raise DeclarationError(f"{tag_name}: discriminator group name {group} is reserved")


def _no_plain_struct(site: Site, tag_name: str) -> None:
    if kind_of(site.schema) == "struct" and not nilable(site.schema):
        raise DeclarationError(
            f"{tag_name}: can only be used on nilable and primitive types ({site.name} is a struct "
            f"that is always there)"
        )


def _around(site: Site) -> Groups:
    if site.around is None:
        raise DeclarationError("unions: can only be used on fields and list items")
    return site.around


def _join(site: Site, name: str, value: str, *, at_most: bool) -> list[Check]:
    union = _around(site).union(name, at_most=at_most)
    union.level = site.level or union.level
    if site.selector is not None:
        union.members.append(Member(site.name, value, _has_item(site.selector)))
    else:
        _no_plain_struct(site, "zeroOrOneOfMember" if at_most else "unionMember")
        union.members.append(
            Member(
                site.name,
                value or site.name[:1].upper() + site.name[1:],
                _has_field(site.name, site.schema),
            )
        )
    return []


def _has_field(name: str, schema: Schema) -> IsSet:
    return lambda struct: struct is not None and is_set(schema, read(schema, struct, name))


def _has_item(selector: Mapping[str, Any]) -> IsSet:
    return lambda items: any(
        all(item.get(k) == v for k, v in selector.items()) for item in items or ()
    )


def _union_check(union: Union) -> Check:
    if union.discriminator is not None:
        return finding(_discriminated(union, *union.discriminator), "union", union.level)
    return finding(_counted(union), "zeroOrOneOf" if union.at_most else "union", union.level)


def _counted(union: Union) -> Callable[[Run, FieldPath, Any, Any], Iterator[FieldError]]:
    all_members = ", ".join(f"`{m.name}`" for m in union.members)

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        specified = [m.name for m in union.members if m.is_set(value)]
        if (
            run.update
            and _there(old)
            and specified == [m.name for m in union.members if m.is_set(old)]
        ):
            return
        if len(specified) > 1:
            how_many = "at most" if union.at_most else "exactly"
            yield invalid(
                path,
                f"{{{', '.join(specified)}}}",
                f"must specify {how_many} one of: {all_members}",
            )
        if not specified and not union.at_most:
            yield invalid(path, "", f"must specify one of: {all_members}")

    return check


def _there(old: Any) -> bool:
    """Whether there was such a struct or list; a list without items is none (Go: nil)."""
    return old is not None and old != []


def _discriminated(
    union: Union, name: str, schema: Schema
) -> Callable[[Run, FieldPath, Any, Any], Iterator[FieldError]]:
    def state(struct: Any) -> tuple[Any, ...]:
        return (read(schema, struct, name), *(m.is_set(struct) for m in union.members))

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        chosen, *present = state(value)
        if run.update and old is not None and (chosen, *present) == state(old):
            return
        for each, there in zip(union.members, present, strict=True):
            if there and each.value != chosen:
                yield invalid(
                    path.child(each.name),
                    "",
                    f"may only be specified when `{name}` is {go_quote(each.value)}",
                )
            elif not there and each.value == chosen:
                yield invalid(
                    path.child(each.name),
                    "",
                    f"must be specified when `{name}` is {go_quote(each.value)}",
                )

    return check


def _mode_check(
    by: tuple[str, Schema], at: str, site: Site, rules: list[tuple[str, Rule, str]]
) -> Check:
    name, schema = by
    checks: dict[str, list[Check]] = {}
    for value, rule, level in rules:
        checks.setdefault(value, []).extend(rule.build(replace(site, level=level)))
    cohorts = {value: cohorts_of(some) for value, some in checks.items()}
    levels = {level for _, _, level in rules}
    otherwise = finding(_forbids(site.schema), "", levels.pop() if len(levels) == 1 else "")
    unnamed = cohorts_of([otherwise])

    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        now, new = read(schema, value, name), read(site.schema, value, at)
        before = None if old is None else read(site.schema, old, at)
        settled = run.update and old is not None and now == read(schema, old, name)
        if settled and semantic_equal(new, before):
            return
        key = str(now).lower() if isinstance(now, bool) else str(now)
        yield from run_cohorts(cohorts.get(key, unnamed), run, path.child(at), new, before)

    return Check(
        call, covers=below(f".{at}", [otherwise, *(c for some in checks.values() for c in some)])
    )


def _forbids(schema: Schema) -> Callable[[Run, FieldPath, Any, Any], Iterator[FieldError]]:
    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if is_set(schema, value):
            yield forbidden_error(path, "")

    return check
