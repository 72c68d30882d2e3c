"""Field selectors: ``metadata.name=a,status.phase!=Running`` (k8s.io/apimachinery, package
``fields``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

Transform = Callable[[str, str], tuple[str, str]]


class FieldSelectorError(ValueError):
    """The text is kube-apiserver's."""


class FieldRequirement(NamedTuple):
    """operator: "=" or "!=" (a selector's "==" reads as "=")."""

    field: str
    operator: str
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        return (fields.get(self.field, "") == self.value) == (self.operator == "=")

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape(self.value)}"


class FieldSelector(NamedTuple):
    """All requirements must hold; none selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """``fields``: selectable field → value; a field that is not there counts as ""."""
        return all(r.matches(fields) for r in self.requirements)

    def matcher(self) -> Callable[[Mapping[str, str]], bool]:
        """`matches` for many objects: it takes time by the fields that are asked for, however many
        requirements there are."""
        if len(self.requirements) <= _FEW:
            return self.matches
        values_of: dict[str, set[str]] = {}
        refused: dict[str, set[str]] = {}
        for r in self.requirements:
            (values_of if r.operator == "=" else refused).setdefault(r.field, set()).add(r.value)
        if any(len(values) > 1 for values in values_of.values()):
            return lambda fields: False
        demanded = [(field, value) for field, (value,) in values_of.items()]

        def matches(fields: Mapping[str, str]) -> bool:
            if any(fields.get(field, "") != value for field, value in demanded):
                return False
            return not any(fields.get(field, "") in values for field, values in refused.items())

        return matches

    def exact(self, field: str) -> str | None:
        """The value that the selector demands of a field, if it demands one."""
        return next(
            (r.value for r in self.requirements if r.field == field and r.operator == "="), None
        )

    def split(self, apart: Collection[str]) -> tuple[FieldSelector, FieldSelector]:
        """The requirements on all but these fields, and those on them."""
        others = tuple(r for r in self.requirements if r.field in apart)
        return FieldSelector(tuple(r for r in self.requirements if r not in others)), FieldSelector(
            others
        )

    def transform(self, change: Transform) -> FieldSelector:
        """With each (field, value) changed; a pair of empty strings drops the requirement. What
        ``change`` raises passes through."""
        changed = ((change(r.field, r.value), r.operator) for r in self.requirements)
        return FieldSelector(tuple(FieldRequirement(f, op, v) for (f, v), op in changed if f or v))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_FEW = 8
"""Requirements that are looked at one by one."""
EVERYTHING = FieldSelector()
_SPECIAL = frozenset("\\,=")


def escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def parse_field_selector(text: str) -> FieldSelector:
    """Terms are sorted, as upstream does before it reads them; those of nothing but an operator say
    nothing. Raises FieldSelectorError."""
    requirements = []
    for term in sorted(_terms(text)):
        if not term:
            continue
        split = _split(term)
        if split is None:
            raise FieldSelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, operator, value = split
        requirements.append(FieldRequirement(field, operator, _unescape(value)))
    return FieldSelector(tuple(r for r in requirements if r.field or r.value))


def _terms(text: str) -> Iterator[str]:
    if "\\" not in text:
        yield from text.split(",")
        return
    start, escaped = 0, False
    for i, c in enumerate(text):
        if escaped:
            escaped = False
        elif c == "\\":
            escaped = True
        elif c == ",":
            yield text[start:i]
            start = i + 1
    yield text[start:]


def _split(term: str) -> tuple[str, str, str] | None:
    for i, c in enumerate(term):
        if term.startswith("!=", i):
            return term[:i], "!=", term[i + 2 :]
        if c == "=":
            return term[:i], "=", term[i + 2 :] if term.startswith("==", i) else term[i + 1 :]
    return None


def _unescape(value: str) -> str:
    if not _SPECIAL.intersection(value):
        return value
    out = []
    chars = iter(value)
    for c in chars:
        if c == "\\":
            following = next(chars, "")
            if following not in ("\\", ",", "="):
                raise FieldSelectorError(
                    f"invalid field selector: invalid escape sequence: \\{following}"
                )
            out.append(following)
        elif c in ",=":
            raise FieldSelectorError(
                f"invalid field selector: unescaped character in value: {ord(c)}"
            )
        else:
            out.append(c)
    return "".join(out)
