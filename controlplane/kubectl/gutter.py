"""YAML line by line, each with the field that it shows.

Fields are known by the paths that blame has told: ``.spec.containers[name="x"].image``. Which keys
a list has is not said anywhere else, so items are found by comparing them with the paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_SELECTOR = re.compile(rf"\[(?:{_QUOTED}|[^\]\"])*\]")
_KEY = re.compile(rf"([^=,\[\]]*)=({_QUOTED}|[^,\]]+)")


class Line(NamedTuple):
    """path: "" for what is no field of its own."""

    path: str
    text: str


def lines(obj: Mapping[str, Any], paths: Sequence[str]) -> Iterator[Line]:
    """``paths``: of all fields."""
    yield from _Writer(paths).mapping(obj, "", "")


def picks(selector: str, item: Any) -> bool:
    """Whether ``[name="x"]`` or ``[="x"]`` is about the item."""
    for name, text in _KEY.findall(selector[1:-1]):
        value = _value(text)
        own = item if not name else item.get(name) if isinstance(item, dict) else None
        if own != value and not (own is None and name == "protocol"):
            return False
    return True


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class _Writer:
    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = frozenset(paths)
        self._below: dict[str, dict[str, None]] = {}
        for path in paths:
            for match in _SELECTOR.finditer(path):
                self._below.setdefault(path[: match.start()], {})[match.group()] = None

    def mapping(self, value: Mapping[str, Any], path: str, indent: str) -> Iterator[Line]:
        for name, item in value.items():
            at = f"{path}.{name}"
            if isinstance(item, dict) and item and at not in self._paths:
                yield Line("", f"{indent}{_scalar(name)}:")
                yield from self.mapping(item, at, f"{indent}  ")
            elif isinstance(item, list) and item and at in self._below:
                yield Line("", f"{indent}{_scalar(name)}:")
                yield from self._list(item, at, indent)
            else:
                yield from _whole({name: item}, at, indent)

    def _list(self, value: list[Any], path: str, indent: str) -> Iterator[Line]:
        for item in value:
            selector = next((s for s in self._below[path] if picks(s, item)), "")
            at = path + selector
            if isinstance(item, dict) and selector and at not in self._paths:
                dash = f"{indent}- "
                for line in self.mapping(item, at, f"{indent}  "):
                    yield line._replace(text=dash + line.text[len(dash) :])
                    dash = f"{indent}  "
            else:
                yield from _whole([item], at, indent)


def _whole(value: Any, path: str, indent: str) -> Iterator[Line]:
    for text in dump(value).splitlines():
        yield Line(path, f"{indent}{text}")


def _scalar(name: str) -> str:
    return dump({name: 0}).rpartition(":")[0]


def dump(value: Any) -> str:
    """As kubectl prints it, in the order that it has."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1_000_000)
    return text
