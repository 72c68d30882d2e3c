"""What a rule is: one tag with its arguments, and how it becomes checks of one place in a schema.

A tag is a function that makes a Rule (``minimum(0)``); tags that take a tag take a Rule
(``alpha(minimum(0))``). A Rule does nothing until `tree.py` builds it for a Site: the schema of the
value, the stability level that wrappers gave, and the struct or list around it. The result is
Checks, closures over plain dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from apiserver.fielderrors import FieldError, FieldPath
from apiserver.kinds.declarative.values import kind_of
from apiserver.schema.types import Schema

if TYPE_CHECKING:
    from apiserver.kinds.declarative.unions import Groups

STANDARD, BETA, ALPHA = "", "beta", "alpha"
"""Levels of a rule. Standard rules are the law; beta and alpha ones stand beside a hand-written
rule (see `run.py`)."""


class DeclarationError(Exception):
    """A kind declares something that makes no sense; raised when its rules are compiled."""


@dataclass(frozen=True, slots=True)
class Run:
    """One validation: whether it is an update, the options (feature gates) that are on, and the
    subresource ("" for the object)."""

    update: bool = False
    options: frozenset[str] = frozenset()
    subresource: str = ""


class Finding(NamedTuple):
    """An error, the tag that found it (upstream's origin: "minimum", "format=k8s-ip"), and the
    level of its rule."""

    error: FieldError
    origin: str
    level: str


Leaf = Callable[[Run, FieldPath, Any, Any], Iterable[FieldError]]
"""(run, path, value, old) → errors. A value of a Go value type is never None; old is None where
nothing corresponds."""
Call = Callable[[Run, FieldPath, Any, Any], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """short: runs before the others, and what it finds ends the checks of this value and of all in
    it. silent: what it finds is no error. covers: (steps below the value, origin, level) of what it
    may find: which hand-written errors it stands for. cohort: the one member or item that the check
    is about, "" for the value as a whole; what a short check of a cohort finds ends that cohort
    alone."""

    call: Call
    short: bool = False
    silent: bool = False
    covers: tuple[tuple[str, str, str], ...] = ()
    cohort: str = ""

    def wrapped(self, call: Call, step: str, cohort: str = "") -> Check:
        """The same check, reached from the value that is ``step`` above its own."""
        return replace(self, call=call, covers=below(step, [self]), cohort=cohort)


@dataclass(frozen=True, slots=True)
class Traits:
    """What the list tags of one place say together. kind: atomic, set or map; unique: by what items
    must differ ("", "set", "map"); keys: name and schema of each key of a map list."""

    kind: str = ""
    unique: str = ""
    keys: tuple[tuple[str, Schema], ...] = ()
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule is built. name: the member (or item) as unions call it; around: the union groups
    of the struct or list that holds the value; own: those of the value itself; rules: all rules of
    the place, without their levels; selector: keys of a list item."""

    schema: Schema
    name: str = ""
    level: str = STANDARD
    around: Groups | None = None
    own: Groups | None = None
    rules: tuple[Rule, ...] = ()
    traits: Traits = Traits()
    selector: Mapping[str, Any] | None = None


Build = Callable[[Site], list[Check]]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """tag: without "k8s:"; argument and payload as given to the tag. Raises DeclarationError for a
    level inside of another tag."""

    tag: str
    build: Build
    argument: Any = None
    payload: Rule | None = None

    def __post_init__(self) -> None:
        if self.payload is not None and self.payload.tag in (ALPHA, BETA):
            raise DeclarationError(f"{self.tag}: {self.payload.tag} can't be used in between")

    def bare(self) -> Rule:
        """Without the level around it."""
        return (
            self.payload.bare() if self.tag in (ALPHA, BETA) and self.payload is not None else self
        )


@dataclass(frozen=True, slots=True)
class Tag:
    """name as documented; stability of the tag itself (alpha, beta, stable), which is not the level
    of a rule that uses it."""

    name: str
    stability: str
    make: Callable[..., Rule]


TAGS: dict[str, Tag] = {}
M = TypeVar("M", bound=Callable[..., Rule])


def tag(name: str, stability: str, *aliases: str) -> Callable[[M], M]:
    """Decorator that registers a tag under its documented name (and under names that other releases
    give it)."""

    def register(make: M) -> M:
        for tag_name in (name, *aliases):
            TAGS[tag_name] = Tag(tag_name, stability, make)
        return make

    return register


def leaf(
    name: str,
    check: Leaf,
    *,
    argument: Any = None,
    origin: str | None = None,
    short: bool = False,
    on: Sequence[str] = (),
) -> Rule:
    """A Rule whose check looks at one value. origin "" where upstream gives none (Required,
    Forbidden, ...); on: see require_kind()."""
    source = name if origin is None else origin

    def build(site: Site) -> list[Check]:
        require_kind(name, site.schema, on)
        return [finding(check, source, site.level, short=short)]

    return Rule(name, build, argument)


def require_kind(name: str, schema: Schema, kinds: Sequence[str]) -> None:
    """Raises DeclarationError where a tag stands at a value of another kind than ``kinds`` (see
    values.kind_of; none: any will do)."""
    actual = kind_of(schema)
    if kinds and actual not in kinds:
        raise DeclarationError(f"{name}: can only be used on {' or '.join(kinds)} types ({actual})")


def finding(
    check: Leaf, origin: str, level: str, *, short: bool = False, silent: bool = False
) -> Check:
    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        for error in check(run, path, value, old):
            yield Finding(error, origin, level)

    return Check(call, short, silent, () if silent else (("", origin, level),))


Cohorts = list[tuple[str, list[Check], list[Check]]]
"""(cohort, its short checks, its other checks); that of the value itself comes first."""


def cohorts_of(checks: Iterable[Check]) -> Cohorts:
    """In the order of the run (validation-gen's sortIntoCohorts)."""
    by_name: dict[str, tuple[str, list[Check], list[Check]]] = {}
    for check in checks:
        _, sooner, later = by_name.setdefault(check.cohort, (check.cohort, [], []))
        (sooner if check.short else later).append(check)
    return sorted(by_name.values(), key=lambda cohort: cohort[0] != "")


def run_cohorts(
    cohorts: Cohorts, run: Run, path: FieldPath, value: Any, old: Any
) -> Generator[Finding, None, bool]:
    """What the checks of one value find; whether that ends the validation of the value."""
    for name, sooner, later in cohorts:
        ended = False
        for check in sooner:
            for result in check.call(run, path, value, old):
                ended = True
                if not check.silent:
                    yield result
        if ended:
            if not name:
                return True
            continue
        for check in later:
            yield from check.call(run, path, value, old)
    return False


def below(step: str, checks: Iterable[Check]) -> tuple[tuple[str, str, str], ...]:
    """What ``checks`` cover, seen from the value that is ``step`` above them."""
    return tuple(
        (step + tail, origin, level) for check in checks for tail, origin, level in check.covers
    )
