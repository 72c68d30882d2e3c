"""Questions: what a list may be asked beside selectors, in the query parameters ``filter``
(`apiserver.registry.filters`), ``sortBy`` and ``count``.

sortBy is a JSONPath as printer columns and kubectl's ``--sort-by`` have it; ``-`` before it turns
the order of values round, ``^`` puts what has none before them instead of behind, and further ones
decide where the ones before say nothing. What kube-apiserver ignores is understood here;
docs/questions.md says how each goes together with the other options.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.errors import Invalid
from apiserver.fielderrors import FieldErrors, invalid, not_supported, too_many
from apiserver.kinds.apiextensions.jsonpath import Path, PathError, parse_path
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object
from apiserver.registry.filters import Filter, FilterError, compile_filter
from apiserver.registry.glances import Glance, glance_at, label_at
from apiserver.registry.offload import repeatable
from apiserver.registry.options import ListOptions
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.schema.types import Schema
from apiserver.storage.interface import ObjectKey, key_order

MOST_KEYS = 8
LONGEST_KEY = 1024
"""Characters."""
COUNTS = ("", "only", "true")
_MARKS = re.compile(r"\^-?|-\^?|")
_OF_KEYS = {".metadata.name": "name", ".metadata.namespace": "namespace"}

Rank = tuple[int, Any]
"""What values are compared by: booleans come before numbers, numbers before strings."""


@dataclass(frozen=True, slots=True, eq=False)
class SortKey:
    """text: of the path; vacant_first: whether what has no value comes before what has one;
    glance: finds the values of cached objects without decoding them, where that can be."""

    text: str
    path: Path
    descending: bool
    vacant_first: bool
    glance: Glance | None

    @property
    def label(self) -> str | None:
        """The label that the path leads to."""
        return label_at(self.text)

    @property
    def of_the_key(self) -> str | None:
        """The part of an object's key that the path leads to."""
        return _OF_KEYS.get(self.text)

    def rank_of_key(self, key: ObjectKey) -> Rank | None:
        """As `rank` of the object that has the key, for paths with `of_the_key`."""
        value = key.namespace if self.of_the_key == "namespace" else key.name
        return self._rank_of_text(value) if value else None

    def rank(self, obj: Object) -> Rank | None:
        """Of the first value that the path leads to; None where there is none that has an
        order."""
        try:
            values = self.path(obj)
        except PathError:
            return None
        value = values[0] if values else None
        if isinstance(value, bool):
            return 0, value
        if isinstance(value, int | float):
            return 1, value
        return self._rank_of_text(value) if isinstance(value, str) else None

    def _rank_of_text(self, value: str) -> Rank:
        """Namespaces stand as they do in other lists, so that there is a reverse of these."""
        return 2, key_order(value, "")[0] if self.of_the_key == "namespace" else value


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """count: "true": how many there are is said, "only": nothing else is; digest: equal for
    questions that one list can be gone on with, "" where the order and the choice of objects are
    those of any list."""

    filter: Filter | None
    sort: tuple[SortKey, ...]
    count: str
    digest: str


def is_asked(options: ListOptions, selection: Selection) -> bool:
    """Whether a list wants what `apiserver.registry.reading` does not answer: a question, or a
    selection by fields that the tenant has declared."""
    asked = options.filter or options.sort_by or options.count
    return bool(asked or selection.declared.requirements)


async def parse(scope: Scope, options: ListOptions) -> Question:
    """Raises Invalid."""
    asker = scope.asker(len(options.filter))
    return await repeatable(asker, lambda: read(options, scope.schema))


def read(options: ListOptions, schema: Schema) -> Question:
    """``schema``: of the request's version. Raises Invalid."""
    errors: FieldErrors = []
    expression, keys = None, []
    if options.filter:
        try:
            expression = compile_filter(options.filter, schema)
        except FilterError as e:
            errors.append(invalid("filter", options.filter, str(e)))
    if len(options.sort_by) > MOST_KEYS:
        errors.append(too_many("sortBy", len(options.sort_by), MOST_KEYS))
    else:
        for i, text in enumerate(options.sort_by):
            try:
                keys.append(_key(text))
            except PathError as e:
                errors.append(invalid(f"sortBy[{i}]", text, str(e)))
    if options.count not in COUNTS:
        errors.append(not_supported("count", options.count, list(COUNTS)))
    if errors:
        raise refused(errors)
    return Question(expression, tuple(keys), options.count, _digest(options))


def refused(errors: FieldErrors) -> Invalid:
    return Invalid(GroupKind("meta.k8s.io", "ListOptions"), "", errors)


def _key(text: str) -> SortKey:
    """Braces and the first dot may be left out, as for kubectl."""
    if len(text) > LONGEST_KEY:
        raise PathError(f"may have at most {LONGEST_KEY} characters")
    marks, path = _marked(text)
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1]
    if not path.strip():
        raise PathError("is no JSONPath")
    if path[0] not in ".[$@":
        path = f".{path}"
    return SortKey(path, parse_path(path), "-" in marks, "^" in marks, glance_at(path))


def _marked(text: str) -> tuple[str, str]:
    """(what stands before the path, the path)."""
    found = _MARKS.match(text)
    end = found.end() if found else 0
    return text[:end], text[end:]


def _digest(options: ListOptions) -> str:
    """Where objects are sorted, the place in the list depends on which ones are selected, too."""
    if not (options.filter or options.sort_by):
        return ""
    selectors: Sequence[str] = ()
    if options.sort_by:
        selectors = (options.label_selector, options.field_selector, options.shard_selector)
    parts = (options.filter, *selectors, *options.sort_by)
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
