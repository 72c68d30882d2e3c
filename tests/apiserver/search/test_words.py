"""What is searched of an object, and what it means that a text is found."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.search.words import AREAS, SECRETS, Match, Needle, fold, texts

MAPS = GroupResource("", "configmaps")


@pytest.mark.parametrize(
    ("text", "within", "found"),
    [
        ("web", "web", True),
        ("web", "my-web-1", True),
        ("web", "website", True),
        ("web", "cobweb", False),
        ("web", "cobweb/web", True),
        ("WEB", "my-Web", True),
        ("1.25", "nginx:1.25.3", True),
        (".25", "nginx:1.25.3", True),
        ("25", "nginx:125", False),
        ("app=web", "app=web-1", True),
        ("pp=web", "app=web", False),
        ("  web  ", "web", True),
        ("100%", "100% done", True),
        ("1%", "100 done", False),
        ("a_b", "a_b", True),
        ("a_b", "axb", False),
        ("_b", "a_b", True),
        ("it's", 'say "it\'s"', True),
        ("\\", "a\\b", True),
        ("straße", "STRASSE 1", True),
        ("cafe\u0301", "un café", True),
        ("字", "一 字", True),
        ("字", "一字", False),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", True),
        ("\u03aa\u0301", "μα\u0390", False),
        ("\u03aa\u0301", "\u0390", True),
        ("\u03ab\u0301", "\u03b0", True),
        ("abc", "\u0390abc", False),
    ],
)
def test_a_text_is_found_where_a_word_begins(text: str, within: str, found: bool) -> None:
    assert (Needle.of(text).find(fold(within)) >= 0) is found


def test_a_letter_is_the_same_however_it_is_written() -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        same = {
            *(unicodedata.normalize(form, letter) for form in ("NFC", "NFD")),
            letter.casefold(),
            unicodedata.normalize("NFD", letter).casefold(),
            fold(letter),
        }
        (folded,) = {fold(way) for way in same}
        assert folded == unicodedata.normalize("NFC", folded), letter


def places(obj: Object, resource: GroupResource = MAPS) -> dict[str, str]:
    return {path: text for _, path, text in texts(resource, obj)}


def a_map(**more: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "uid": "u"}, **more}


def test_what_is_searched_of_an_object() -> None:
    obj = a_map(
        data={"app.conf": "x", "plain": "2026-01-31T14:05:00Z"},
        list=[{"port": 80, "on": True, "nothing": None}, "word", 1.5],
    )
    obj["metadata"] |= {
        "labels": {"app": "web"},
        "annotations": {"a/b": "c", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "managedFields": [{"manager": "m"}],
        "finalizers": ["f"],
    }
    assert places(obj) == {
        "metadata.name": "n",
        "metadata.uid": "u",
        "metadata.labels[app]": "app=web",
        "metadata.annotations[a/b]": "a/b=c",
        "data[app.conf]": "x",
        "list[0].port": "80",
        "list[1]": "word",
        "list[2]": "1.5",
    }
    assert ("values", "data[app.conf]", "app.conf") in list(texts(MAPS, obj))


def test_what_is_in_a_secret_is_not_searched() -> None:
    obj = a_map(data={"password": "aGk="}, stringData={"token.txt": "hi"}, type="Opaque")
    assert set(places(obj, SECRETS)) == {"metadata.name", "metadata.uid"}
    assert "type" in places(obj)


def test_an_object_of_a_thousand_levels() -> None:
    value: Any = "deep"
    for _ in range(5000):
        value = [value]
    assert Needle.of("deep").matches(MAPS, a_map(data=value), AREAS)


def test_a_match_says_where_and_shows_what_is_around() -> None:
    text = f"{'x ' * 100}needle\n\x1b[31m{'y' * 200}"
    (match,) = Needle.of("Needle").matches(MAPS, a_map(data={"key": text}), AREAS)
    assert (match.area, match.path) == ("values", "data.key")
    assert match.excerpt.startswith("…x x ") and match.excerpt.endswith("yyy…")
    assert " needle  [31my" in match.excerpt and len(match.excerpt) == 122


def test_matches_are_few_and_of_the_areas_asked_for() -> None:
    obj = a_map(data={f"k{i}": "web" for i in range(9)})
    obj["metadata"]["labels"] = {"app": "web"}
    needle = Needle.of("web")
    assert needle.matches(MAPS, obj, ["labels"]) == [
        Match("labels", "metadata.labels[app]", "app=web")
    ]
    assert [m.path for m in needle.matches(MAPS, obj, AREAS)] == [
        "metadata.labels[app]",
        "data.k0",
        "data.k1",
    ]
    assert needle.matches(MAPS, obj, ["names"]) == []
