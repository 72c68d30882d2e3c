"""What an ObjectSearch asks, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from apiserver.errors import Invalid
from apiserver.fielderrors import (
    FieldError,
    FieldPath,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from apiserver.meta.gvk import GroupKind
from apiserver.meta.names import dns1123_label
from apiserver.meta.objects import Object
from apiserver.search.words import AREAS, Needle

KIND = GroupKind("search.polyplane.dev", "ObjectSearch")
LONGEST = 256
"""Bytes of a text."""
MOST_NAMED = 100
"""Kinds, namespaces, tenants that one search names."""
MOST, USUAL = 500, 50
"""Objects in one answer: at most, and where nothing is said."""
EVERY = "*"

SPEC = FieldPath("spec")


@dataclass(frozen=True, slots=True)
class Question:
    """kinds: as they were named; namespaces: empty for all, and for what is in none; tenants: empty
    for the one that is asked, EVERY for all. digest: equal for questions that one token is good
    for."""

    needle: Needle
    kinds: Sequence[str]
    namespaces: Sequence[str]
    tenants: Sequence[str]
    areas: Sequence[str]
    limit: int
    token: str

    @property
    def digest(self) -> str:
        asked = [self.needle.folded, *map(sorted, (self.kinds, self.namespaces, self.tenants))]
        return sha256(ascii([*asked, sorted(self.areas)]).encode()).hexdigest()[:16]


def parse(review: Object) -> Question:
    """Raises Invalid."""
    spec = review.get("spec") or {}
    text, areas = spec.get("text") or "", spec.get("in") or AREAS
    limit = spec.get("limit") or USUAL
    errors = [*_text_errors(text), *_name_errors(spec), *_area_errors(areas)]
    if not 0 < limit <= MOST:
        errors.append(invalid(SPEC.child("limit"), limit, f"must be between 1 and {MOST}"))
    if errors:
        raise Invalid(KIND, "", errors)
    kinds, namespaces, tenants = (
        tuple(spec.get(name) or ()) for name in ("kinds", "namespaces", "tenants")
    )
    chosen = [area for area in AREAS if area in areas]
    token = spec.get("continue") or ""
    return Question(Needle.of(text), kinds, namespaces, tenants, chosen, limit, token)


def _text_errors(text: str) -> list[FieldError]:
    path = SPEC.child("text")
    if len(text.encode(errors="surrogatepass")) > LONGEST:
        return [too_long(path, LONGEST)]
    if not Needle.of(text).folded:
        return [required(path, "what to look for")]
    return []


def _name_errors(spec: Object) -> list[FieldError]:
    errors = []
    for member in ("kinds", "namespaces", "tenants"):
        named, path = spec.get(member) or (), SPEC.child(member)
        if len(named) > MOST_NAMED:
            errors.append(too_many(path, len(named), MOST_NAMED))
        for i, name in enumerate(named[:MOST_NAMED]):
            if not name:
                errors.append(required(path.at(i)))
            elif member != "kinds" and name != EVERY:
                errors += (invalid(path.at(i), name, why) for why in dns1123_label(name))
            elif member == "namespaces":
                errors.append(invalid(path.at(i), name, "leave it out for all namespaces"))
    return errors


def _area_errors(areas: Sequence[str]) -> list[FieldError]:
    path = SPEC.child("in")
    if len(areas) > len(AREAS):
        return [too_many(path, len(areas), len(AREAS))]
    unknown = ((i, area) for i, area in enumerate(areas) if area not in AREAS)
    return [not_supported(path.at(i), area, list(AREAS)) for i, area in unknown]
