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

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
PAIR = re.compile(rf"(?<![^\W_])[^\W_]+=(?=([^\s\x00]{{1,{LONGEST}}}))")
"""A whole word, and what it is equal to, up to the next space. The second may have more of them in
it, and what it begins is looked for once, however long words are."""
_LETTERS = {"names": "n", "labels": "l", "annotations": "a", "values": "v"}


def terms(tenant: int, key: ObjectKey, obj: ReadOnlyObject) -> str:
    """Separated by spaces."""
    found: set[str] = set()
    for area, _, text in texts(key.group_resource, obj):
        start, folded = f"{tenant}{_LETTERS[area]}", fold(text)
        found.update(start + word[:LONGEST] for word in WORD.findall(folded))
        if "=" in folded:
            found.update(start + pair[:LONGEST] for pair, _ in _pairs(folded))
        if len(found) > MOST_WORDS:
            found = {_many(tenant)}
            break
    found.add(_kind(tenant, key.group_resource))
    found.add(_namespace(tenant, key.namespace))
    return " ".join(sorted(found))


def query(tenant: int, needle: Needle, areas: Sequence[str], where: Where) -> Words | None:
    """None where the text has no word that an index could find."""
    asked = _Asked.of(needle.folded)
    if not any(asked):
        return None
    within = _within(tenant, where)
    exact = _in_any(tenant, asked, areas) + within
    if not asked.last or len(asked.last) >= SHORT:
        return Words(exact)
    easy = asked._replace(last="")
    if not any(easy):
        return Words(exact, broad=True)
    return Words(exact, _in_any(tenant, easy, areas) + within)


class _Asked(NamedTuple):
    """What a place has in which a text is found: these words; terms that begin with these pairs; a
    word that begins with the last one, "" for none."""

    words: Sequence[str]
    pairs: Sequence[str]
    last: str

    @staticmethod
    def of(folded: str) -> _Asked:
        pairs = list(_pairs(folded))
        told = [(begin, begin + len(pair)) for pair, begin in pairs if len(pair) <= LONGEST]
        words, last = [], ""
        for match in WORD.finditer(folded):
            if any(begin <= match.start() and match.end() <= end for begin, end in told):
                continue  # a pair says it
            if match.end() < len(folded):
                words.append(match[0][:LONGEST])
            else:
                last = match[0][:LONGEST]
        return _Asked(words, [pair[:LONGEST] for pair, _ in pairs], last)


def _in_any(tenant: int, asked: _Asked, areas: Sequence[str]) -> str:
    alternatives = [_quoted(_many(tenant))]
    for area in areas:
        start = f"{tenant}{_LETTERS[area]}"
        found = [_quoted(start + word) for word in asked.words]
        begun = (*asked.pairs, asked.last) if asked.last else asked.pairs
        found += (_quoted(start + beginning) + ":*" for beginning in begun)
        alternatives.append(" & ".join(found))
    return f"({' | '.join(alternatives)})"


def _pairs(folded: str) -> Iterator[tuple[str, int]]:
    """Each with where it begins."""
    return ((match[0] + match[1], match.start()) for match in PAIR.finditer(folded))


def _within(tenant: int, where: Where) -> str:
    if where.everything:
        return ""
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
