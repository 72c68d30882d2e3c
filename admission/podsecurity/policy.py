"""The policy of a namespace: a level and a version for each mode, from its labels
(k8s.io/pod-security-admission ``api``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

from apiserver.fielderrors import FieldError, FieldErrors, FieldPath, invalid
from apiserver.golang.math import MAX_INT64

PREFIX = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]*)", re.ASCII)


class Level(IntEnum):
    """In the order of strictness."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2

    @property
    def text(self) -> str:
        return self.name.lower()


_LEVELS = {level.text: level for level in Level}


class LevelVersion(NamedTuple):
    """minor: of version 1; None: the latest."""

    level: Level
    minor: int | None = None

    def __str__(self) -> str:
        version = "latest" if self.minor is None else f"v1.{self.minor}"
        return f"{self.level.text}:{version}"

    def equivalent(self, other: LevelVersion) -> bool:
        return self == other or self.level == other.level == Level.PRIVILEGED


NO_LIMIT = LevelVersion(Level.PRIVILEGED)


@dataclass(frozen=True, slots=True)
class Policy:
    enforce: LevelVersion = NO_LIMIT
    audit: LevelVersion = NO_LIMIT
    warn: LevelVersion = NO_LIMIT

    @property
    def modes(self) -> Iterator[tuple[str, LevelVersion]]:
        yield from (("enforce", self.enforce), ("audit", self.audit), ("warn", self.warn))

    @property
    def fully_privileged(self) -> bool:
        return all(mode.level == Level.PRIVILEGED for _, mode in self.modes)

    def equivalent(self, other: Policy) -> bool:
        pairs = zip(self.modes, other.modes, strict=True)
        return all(mine.equivalent(theirs) for (_, mine), (_, theirs) in pairs)


DEFAULT = Policy()


def parse_level(text: str) -> Level:
    """Raises ValueError."""
    if text not in _LEVELS:
        raise ValueError(f"must be one of {', '.join(_LEVELS)}")
    return _LEVELS[text]


def parse_version(text: str) -> int | None:
    """The minor version, None for the latest. Raises ValueError."""
    if text == "latest":
        return None
    match = _VERSION.fullmatch(text)
    if match is None or int(match[1]) > MAX_INT64:
        raise ValueError('must be "latest" or "v1.x"')
    return int(match[1])


@dataclass
class _Reading:
    labels: Mapping[str, str]
    errors: FieldErrors = field(default_factory=list)

    def level(self, mode: str, default: Level, otherwise: Level) -> tuple[Level, bool]:
        """(the level, whether a label says it well); ``otherwise``: of a label that is wrong."""
        label = PREFIX + mode
        if label not in self.labels:
            return default, False
        try:
            return parse_level(self.labels[label]), True
        except ValueError as e:
            self.errors.append(self._error(label, e))
            return otherwise, False

    def version(self, mode: str, default: int | None) -> int | None:
        label = f"{PREFIX}{mode}-version"
        if label not in self.labels:
            return default
        try:
            return parse_version(self.labels[label])
        except ValueError as e:
            self.errors.append(self._error(label, e))
            return None

    def _error(self, label: str, error: ValueError) -> FieldError:
        path = FieldPath("metadata").child("labels").key(label)
        return invalid(path, self.labels[label], str(error))


def policy_of(labels: Mapping[str, str] | None, default: Policy) -> tuple[Policy, FieldErrors]:
    """What holds, and what is wrong with the labels: a bad level enforces ``restricted`` and audits
    and warns of nothing, a bad version is the latest. Without a label for it, ``warn`` is at
    least as strict as a good label for ``enforce``."""
    reading = _Reading(labels or {})
    enforce, said = reading.level("enforce", default.enforce.level, Level.RESTRICTED)
    policy = replace(
        default, enforce=LevelVersion(enforce, reading.version("enforce", default.enforce.minor))
    )
    audit, _ = reading.level("audit", default.audit.level, Level.PRIVILEGED)
    policy = replace(
        policy, audit=LevelVersion(audit, reading.version("audit", default.audit.minor))
    )
    warn, _ = reading.level("warn", default.warn.level, Level.PRIVILEGED)
    minor = reading.version("warn", default.warn.minor)
    if PREFIX + "warn" not in reading.labels and said and enforce > warn:
        warn = enforce
        if f"{PREFIX}warn-version" not in reading.labels:
            minor = policy.enforce.minor
    return replace(policy, warn=LevelVersion(warn, minor)), reading.errors
