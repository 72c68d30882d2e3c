"""Prometheus' text format 0.0.4, read more strictly than Prometheus reads it: as its documentation
and ``promtool check metrics`` want it to be written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isnan

KINDS = {"counter", "gauge", "histogram"}
Series = tuple[str, tuple[tuple[str, str], ...]]
"""Name of the sample, and its labels in their order."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN")
_PARTS = ("_bucket", "_sum", "_count")


class Malformed(Exception):
    """What is wrong, and the line."""


@dataclass(slots=True)
class Family:
    """Of a metric, all that its HELP and TYPE stand above."""

    name: str
    text: str
    kind: str = ""
    samples: dict[Series, float] = field(default_factory=dict)

    def labels(self) -> set[tuple[str, ...]]:
        """Names of labels, which all samples should have in common; le is the format's own."""
        return {tuple(k for k, _ in of if k != "le") for _, of in self.samples}


def read(text: str) -> dict[str, Family]:
    """Families by name. Raises Malformed."""
    if not text.endswith("\n"):
        raise Malformed("the last line does not end")
    families: dict[str, Family] = {}
    current: Family | None = None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            current = _begin(families, line)
        elif line.startswith("# TYPE "):
            _type(current, line)
        else:
            _sample(current, line)
    for family in families.values():
        _check(family)
    return families


def falls(before: Mapping[str, Family], after: Mapping[str, Family]) -> Iterator[str]:
    """Counters that have gone back, or are not told any more."""
    for name, family in before.items():
        if family.kind == "gauge":
            continue
        now = after[name].samples if name in after else {}
        for series, value in family.samples.items():
            if (later := now.get(series)) is None or later < value:
                yield f"{series}: {value!r}, then {later!r}"


def _begin(families: dict[str, Family], line: str) -> Family:
    _, _, name, text = (*line.split(" ", 3), "")[:4]
    if not _NAME.fullmatch(name) or not text.strip():
        raise Malformed(f"no name, or no text: {line}")
    if name in families:
        raise Malformed(f"a second time: {line}")
    if re.search(r"\\(?![\\n])", text):
        raise Malformed(f"unknown escape: {line}")
    families[name] = Family(name, text)
    return families[name]


def _type(family: Family | None, line: str) -> None:
    if family is None or family.kind or family.samples:
        raise Malformed(f"not below its HELP: {line}")
    _, _, name, family.kind = line.split(" ")
    if name != family.name or family.kind not in KINDS:
        raise Malformed(f"of another metric, or of no kind: {line}")


def _sample(family: Family | None, line: str) -> None:
    name = _NAME.match(line)
    if family is None or not family.kind or name is None:
        raise Malformed(f"of no metric: {line}")
    wanted = {family.name}
    if family.kind == "histogram":
        wanted = {family.name + part for part in _PARTS}
    if name[0] not in wanted:
        raise Malformed(f"of another metric than {family.name}: {line}")
    labels, at = _labels(line, name.end())
    if line[at : at + 1] != " " or not _NUMBER.fullmatch(line, at + 1):
        raise Malformed(f"no number, or more than one: {line}")
    series = name[0], labels
    if len(dict(labels)) < len(labels) or series in family.samples:
        raise Malformed(f"a second time: {line}")
    family.samples[series] = float(line[at + 1 :])


def _labels(line: str, at: int) -> tuple[tuple[tuple[str, str], ...], int]:
    """(them, where they end)."""
    found: list[tuple[str, str]] = []
    if line[at : at + 1] != "{":
        return (), at
    while line[at] != "}":
        label = _LABEL.match(line, at + 1)
        if label is None or line[label.end() : label.end() + 1] not in (",", "}"):
            raise Malformed(f"labels: {line}")
        found.append((label[1], label[2]))
        at = label.end()
    return tuple(found), at + 1


def _check(family: Family) -> None:
    if not family.kind:
        raise Malformed(f"{family.name} has no TYPE")
    if len(family.labels()) > 1:
        raise Malformed(f"{family.name} has samples of different labels: {family.labels()}")
    if family.kind != "gauge":
        for series, value in family.samples.items():
            if isnan(value) or value < 0:
                raise Malformed(f"{series} cannot be {value}")
    if family.kind == "histogram":
        _check_histogram(family)


def _check_histogram(family: Family) -> None:
    """Each has buckets in rising order, which are sums, up to all; then its sum and its count."""
    told: dict[tuple[tuple[str, str], ...], list[tuple[str, str, float]]] = {}
    for (name, labels), value in family.samples.items():
        bound = dict(labels).get("le", "")
        own = tuple(label for label in labels if label[0] != "le")
        told.setdefault(own, []).append((name.removeprefix(family.name), bound, value))
    for own, parts in told.items():
        *buckets, total, count = parts
        bounds = [float(bound) for part, bound, _ in buckets if part == "_bucket" and bound]
        counts = [value for _, _, value in buckets]
        if (total[:2], count[:2]) != (("_sum", ""), ("_count", "")) or len(bounds) < len(buckets):
            raise Malformed(f"{family.name}{own}: parts {parts}")
        if sorted(set(bounds)) != bounds or bounds[-1:] != [inf]:
            raise Malformed(f"{family.name}{own}: bounds {bounds}")
        if sorted(counts) != counts or counts[-1] != count[2]:
            raise Malformed(f"{family.name}{own}: counts {counts}, {count[2]} in all")
