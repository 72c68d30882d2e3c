"""The words of an object as terms of the database's index, and the query that finds them there.

A term is the tenant's number, the letter of an area, and a word (`apiserver.search.words`): one
index holds all tenants, and each finds its own. Terms of their own say where an object is, so that
a word that everything has is found soon in one namespace. An object of very many words has one term
that says so, and is a candidate for every search.

A query never misses an object in which the text is found. In a place where it is found, all words
of the text but the last are whole words, and the last one begins one. It may find others, in which
the words stand apart: whoever asks looks at the objects themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import ReadOnlyObject
from apiserver.search.words import WORD, Needle, fold, texts
from apiserver.storage.interface import ObjectKey
from apiserver.storage.search import Where, Words

LONGEST = 40
"""Characters of a word that count."""
MOST_WORDS = 4_000
"""Of one object; above that it has none, and is looked at by every search."""
SHORT = 3
"""Characters of the beginning of a word from which on an index finds all such words soon."""
MOST_SCOPES = 200
"""Kinds and namespaces that a query names."""
_LETTERS = {"names": "n", "labels": "l", "annotations": "a", "values": "v"}


def terms(tenant: int, key: ObjectKey, obj: ReadOnlyObject) -> str:
    """Separated by spaces."""
    found: set[str] = set()
    for area, _, text in texts(key.group_resource, obj):
        start = f"{tenant}{_LETTERS[area]}"
        found.update(start + word[:LONGEST] for word in WORD.findall(fold(text)))
        if len(found) > MOST_WORDS:
            found = {_many(tenant)}
            break
    found.add(_kind(tenant, key.group_resource))
    found.add(_namespace(tenant, key.namespace))
    return " ".join(sorted(found))


def query(tenant: int, needle: Needle, areas: Sequence[str], where: Where) -> Words | None:
    """None where the text has no word that an index could find."""
    words = [word[:LONGEST] for word in WORD.findall(needle.folded)]
    if not words:
        return None
    within = _within(tenant, where)
    begins = needle.folded[-1].isalnum()
    exact = _any_area(tenant, words, areas, begins) + within
    if not begins or len(words[-1]) >= SHORT:
        return Words(exact)
    if len(words) == 1:
        return Words(exact, broad=True)
    return Words(exact, _any_area(tenant, words[:-1], areas, False) + within)


def _any_area(tenant: int, words: Sequence[str], areas: Sequence[str], begins: bool) -> str:
    """``begins``: the last one is the beginning of a word."""
    alternatives = [_quoted(_many(tenant))]
    for area in areas:
        start = f"{tenant}{_LETTERS[area]}"
        found = " & ".join(_quoted(start + word) for word in words)
        alternatives.append(found + ":*" if begins else found)
    return f"({' | '.join(alternatives)})"


def _within(tenant: int, where: Where) -> str:
    scopes = [_kind(tenant, resource) for resource in where.whole]
    scopes += sorted({_namespace(tenant, namespace) for _, namespace in where.places})
    return f" & ({' | '.join(map(_quoted, scopes))})" if len(scopes) <= MOST_SCOPES else ""


def _many(tenant: int) -> str:
    return f"{tenant}!"


def _kind(tenant: int, resource: GroupResource) -> str:
    return f"{tenant}#{resource.resource}.{resource.group}"


def _namespace(tenant: int, namespace: str) -> str:
    return f"{tenant}@{namespace}"


def _quoted(term: str) -> str:
    """As the text of a tsquery has it."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
