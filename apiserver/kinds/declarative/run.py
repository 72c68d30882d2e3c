"""Declared and hand-written errors of one write, put together; and the count of where they differ.

A standard rule is the law and has no hand-written twin. Where there is a twin, it marks its errors
with `covered`, and the level says which of the two counts (Kubernetes' validation lifecycle,
k8s.io/apiserver ``registry/rest/validate.go``):

- alpha: the hand-written error counts, the declared one is only compared with it (with the gate
  DeclarativeValidationTakeover: as beta).
- beta: the declared error counts and the hand-written one is dropped, unless the gate
  DeclarativeValidationBeta is off.
- DeclarativeValidation off: neither alpha nor beta rules count or are compared; standard rules
  stay, nothing else would check.

A difference (kind of error, path, origin) makes no error; it counts in
``declarative_validation_mismatch_total``.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from apiserver.fielderrors import ErrorType, FieldError, FieldErrors, internal
from apiserver.kinds.declarative.conditions import alpha
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.formats import format
from apiserver.kinds.declarative.presence import optional
from apiserver.kinds.declarative.rules import ALPHA, BETA, STANDARD, Finding, Run
from apiserver.kinds.declarative.structure import subfield
from apiserver.schema.types import Schema

log = logging.getLogger(__name__)

_MOST_PATH = 200
"""Characters of a path in the log: keys of maps are as long as a client likes."""
_INDEX = re.compile(r"\[[^\]]*\]")
_AS_WRITTEN = (
    "This difference should not affect system operation since hand written validation is "
    "authoritative."
)
_AS_DECLARED = (
    "Consider disabling the feature gate that makes declarative validation authoritative."
)


@dataclass(frozen=True, slots=True)
class Gates:
    """The feature gates of declarative validation, and the names of all gates that are on (what
    ifEnabled() asks for)."""

    declarative_validation: bool = True
    takeover: bool = False
    beta: bool = True
    enabled: frozenset[str] = frozenset()

    @classmethod
    def of(cls, gates: Mapping[str, bool]) -> Gates:
        """From gate names to whether they are on; those that are not named have their defaults."""
        return cls(
            gates.get("DeclarativeValidation", True),
            gates.get("DeclarativeValidationTakeover", False),
            gates.get("DeclarativeValidationBeta", True),
            frozenset(name for name, on in gates.items() if on),
        )

    def counts(self, level: str) -> bool:
        """Whether errors of rules of this level are the client's."""
        if level == STANDARD:
            return True
        return self.declarative_validation and (self.takeover or (level == BETA and self.beta))


DEFAULT_GATES = Gates()

_NAME, _NAME_ORIGIN = ".metadata.name", "format=k8s-long-name"
NAME_RULES = (alpha(subfield("name", optional())), alpha(subfield("name", format("k8s-long-name"))))
"""Of "metadata", for kinds whose names are DNS subdomains and that say so by rules."""


class Subject(NamedTuple):
    """What is written. kind: its name; old: None on create; subresource: "" for the object
    itself."""

    kind: str
    version: str
    schema: Schema
    obj: Any
    old: Any = None
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """As in the metrics' label: ``replicationcontroller_scale_update``."""
        parts = [
            self.kind.lower(),
            *([self.subresource.replace("/", "_")] if self.subresource else []),
        ]
        return "_".join([*parts, "create" if self.old is None else "update"])


MISMATCHES: Counter[str] = Counter()
PANICS: Counter[str] = Counter()
"""By Subject.identifier, since the process began."""


class Family(NamedTuple):
    """A counter as /metrics shows it. read: label values → count."""

    name: str
    text: str
    labels: tuple[str, ...]
    read: Callable[[], dict[tuple[str, ...], float]]


def _total(name: str, text: str, counts: Counter[str]) -> Family:
    return Family(_METRIC + name, text, (), lambda: {(): counts.total()})


def _by_identifier(name: str, text: str, counts: Counter[str]) -> Family:
    return Family(
        _METRIC + name,
        text,
        ("validation_identifier",),
        lambda: {(key,): count for key, count in counts.items()},
    )


_METRIC = "apiserver_validation_declarative_validation_"
METRICS = (
    _total(
        "mismatch_total",
        "Number of times declarative validation results differed from handwritten validation.",
        MISMATCHES,
    ),
    _by_identifier(
        "parity_discrepancies_total",
        "Differences of declarative and handwritten validation, by identifier.",
        MISMATCHES,
    ),
    _total("panic_total", "Number of times declarative validation has panicked.", PANICS),
    _by_identifier(
        "panics_total", "Number of panics in declarative validation, by identifier.", PANICS
    ),
)


def covered(errors: Iterable[FieldError], origin: str = "") -> Iterator[FieldError]:
    """Marks hand-written errors that a declared rule stands for. origin: the rule's tag ("minimum",
    "format=k8s-short-name"); "" for required, forbidden, enum and uniqueness, which the kind of the
    error tells apart."""
    for error in errors:
        error.origin = origin
        yield error


def validate(
    declared: Declared, subject: Subject, written: FieldErrors, gates: Gates
) -> FieldErrors:
    """The errors of a write: ``written`` are those of the kind's hooks; declared ones that count
    come after what is left of them."""
    if not declared.supports(subject.subresource):
        return written
    node = declared.compiled(subject.schema, subject.version)
    findings, panic = _find(declared, subject, gates)
    if not gates.declarative_validation:
        return written + panic + [f.error for f in findings if f.level == STANDARD]
    if not written and not findings:
        return panic
    levels = {(tail, origin): level for tail, origin, level in node.covers}
    _mark_names(written, levels)
    _compare(subject, written, [f for f in findings if f.level != STANDARD], gates)
    kept = [
        e
        for e in written
        if e.origin is None
        or not _replaced(levels.get((f".{_INDEX.sub('[*]', e.path)}", e.origin)), gates)
    ]
    return kept + panic + [f.error for f in findings if gates.counts(f.level)]


def _mark_names(written: FieldErrors, levels: Mapping[tuple[str, str], str]) -> None:
    """Names are checked for all kinds by one code that cannot know who declares rules for them."""
    if (_NAME, _NAME_ORIGIN) in levels:
        for error in written:
            if error.type is ErrorType.INVALID and f".{error.path}" == _NAME:
                error.origin = _NAME_ORIGIN


def _replaced(level: str | None, gates: Gates) -> bool:
    """Whether a hand-written error gives way; a standard rule leaves it alone until its code is
    gone."""
    return level in (ALPHA, BETA) and gates.counts(level)


def _find(declared: Declared, subject: Subject, gates: Gates) -> tuple[list[Finding], FieldErrors]:
    """What the rules find, and the error that a failure in them is."""
    run = Run(
        subject.old is not None,
        gates.enabled | declared.options(subject.obj, subject.old),
        subject.subresource,
    )
    try:
        return list(
            declared.findings(subject.schema, subject.version, run, subject.obj, subject.old)
        ), []
    except Exception as failure:
        PANICS[subject.identifier] += 1
        log.exception("declarative validation of %s failed", subject.identifier)
        text = f"panic during declarative validation: {failure}"
        enforced = any(
            gates.counts(level)
            for _, _, level in declared.compiled(subject.schema, subject.version).covers
        )
        return [], [internal("", text)] if enforced else []


def _compare(subject: Subject, written: FieldErrors, findings: list[Finding], gates: Gates) -> None:
    """Counts each covered hand-written error without a declared one, and each declared one without
    a hand-written one; one line of log tells of all, because one object may have tens of
    thousands."""
    twins = {(e.type, e.path, e.origin): None for e in written if e.origin is not None}
    shadows = {(f.error.type, f.error.path, f.origin): f.level for f in findings}
    different = [
        *((key, None, "unmatched") for key in twins if key not in shadows),
        *((key, level, "extra") for key, level in shadows.items() if key not in twins),
    ]
    if not different:
        return
    MISMATCHES[subject.identifier] += len(different)
    (kind, path, origin), level, how = different[0]
    log.error(
        "Unexpected difference between hand written and declarative validation of %s, %s error(s) "
        "found %s%s. %s",
        subject.identifier,
        how,
        f"Type={kind.value}, Field={path[:_MOST_PATH]}, Origin={origin}",
        f" and {len(different) - 1} more" if len(different) > 1 else "",
        _AS_DECLARED if level is not None and gates.counts(level) else _AS_WRITTEN,
    )
