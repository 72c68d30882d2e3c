"""YAML as kube-apiserver reads and writes it: sigs.k8s.io/yaml over go-yaml v2, that is YAML 1.1
turned into JSON values.

libyaml parses (Go's parser is a port of it, so the error texts agree); which Go value a scalar
stands for is decided here. Only the first document counts. A key that occurs twice is an error of
strict decoding only; the last one wins.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.cyaml import CSafeDumper

from apiserver.codec import yaml_json
from apiserver.codec.yaml_scalars import STR, is_base60, is_timestamp, resolve
from apiserver.golang.fmt import go_syntax
from apiserver.golang.json import go_float
from apiserver.golang.math import is_int64
from apiserver.meta.raw import RawObject

_TAG = "tag:yaml.org,2002:"


class YAMLError(ValueError):
    """The bytes are not YAML, or hold what JSON cannot; the text is Go's (``yaml: line 2:
    ...``)."""


def loads(data: bytes) -> tuple[Any, list[str]]:
    """(JSON value, strict errors) of the first document; no document is None.

    There is at most one strict error, which holds a line for each repeated key:
    ``yaml: unmarshal errors:\\n  line 5: key "foo" already set in map``. Raises YAMLError.
    """
    tree = yaml_json.read(data)
    if tree is not None:
        return tree, []
    try:
        reader = _Reader(data)
        value = _jsonable(reader.document())
    except yaml.YAMLError as e:
        raise YAMLError(_explain(e)) from None
    except RecursionError:
        raise YAMLError("yaml: exceeded max depth of 10000") from None
    if not reader.repeated:
        return value, []
    return value, ["yaml: unmarshal errors:\n  " + "\n  ".join(reader.repeated)]


def dumps(obj: Any) -> bytes:
    """Sorted keys, two spaces, list markers at their key's column, block literals for text of
    several lines."""
    text: str = yaml.dump(
        obj, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=80
    )
    return text.removesuffix("...\n").encode()


def _explain(e: yaml.YAMLError) -> str:
    """go-yaml's text: lines count from 1 for the scanner, from 0 for the parser, and line 0 is left
    out."""
    problem = getattr(e, "problem", None)
    if problem is None:
        return f"yaml: {getattr(e, 'reason', None) or e}"
    mark, context = getattr(e, "problem_mark", None), getattr(e, "context_mark", None)
    line = 0
    if mark is not None and mark.line:
        line = mark.line + isinstance(e, yaml.scanner.ScannerError)
    elif context is not None and context.line:
        line = context.line
    return f"yaml: line {line}: {problem}" if line else f"yaml: {problem}"


class _Reader:
    """Reads events; counts what aliases add, as go-yaml does, so that a small text cannot become a
    huge value."""

    def __init__(self, data: bytes) -> None:
        self.parser: Any = CParser(data)  # its stub leaves out what events always have
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open: set[str] = set()
        self.decoded = 0
        self.aliased = 0
        self.repeated: list[str] = []

    def document(self) -> Any:
        try:
            self.parser.get_event()  # stream start
            if isinstance(self.parser.get_event(), yaml.StreamEndEvent):
                return None
            return self.value(self.parser.get_event())
        finally:
            self.parser.dispose()

    def value(self, event: Any) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(str(event.anchor))
        self.decoded += 1
        anchor, before = event.anchor, self.decoded
        if anchor:
            self.open.add(anchor)
        tree: Any
        if isinstance(event, yaml.ScalarEvent):
            tree = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            tree = []
            while not isinstance(item := self.parser.get_event(), yaml.SequenceEndEvent):
                tree.append(self.value(item))
        else:
            tree = self.mapping()
        if anchor:
            self.open.discard(anchor)
            self.anchors[anchor] = (tree, self.decoded - before + 1)
        return tree

    def mapping(self) -> dict[Any, Any]:
        members: dict[Any, Any] = {}
        while not isinstance(event := self.parser.get_event(), yaml.MappingEndEvent):
            if _is_merge(event):
                self.merge(members)
                continue
            key = _hashable(self.value(event))
            following = self.parser.get_event()
            value = self.value(following)
            self.put(members, key, value, following.start_mark.line + 1)
        return members

    def put(self, mapping: dict[Any, Any], key: Any, value: Any, line: int) -> None:
        if key in mapping:
            self.repeated.append(
                f"line {line}: key {go_syntax(key[1], 'interface {}')} already set in map"
            )
        mapping[key] = value

    def merge(self, mapping: dict[Any, Any]) -> None:
        event = self.parser.get_event()
        source = self.value(event)
        for one in reversed(source) if isinstance(source, list) else [source]:
            if not isinstance(one, dict):
                raise YAMLError("yaml: map merge requires map or sequence of maps as the value")
            for key, value in one.items():
                self.put(mapping, key, value, event.start_mark.line + 1)

    def alias(self, name: str) -> Any:
        if name in self.open:
            raise YAMLError(f"yaml: anchor '{name}' value contains itself")
        if name not in self.anchors:
            raise YAMLError(f"yaml: unknown anchor '{name}' referenced")
        value, size = self.anchors[name]
        self.decoded += size + 1
        self.aliased += size
        if (
            self.aliased > 100
            and self.decoded > 1000
            and self.aliased / self.decoded > _allowed_alias_ratio(self.decoded)
        ):
            raise YAMLError("yaml: document contains excessive aliasing")
        return value


def _allowed_alias_ratio(decoded: int) -> float:
    """0.99 up to 400,000 decoded values, falling in a line to 0.10 at 4,000,000 (go-yaml v2)."""
    if decoded <= 400_000:
        return 0.99
    if decoded >= 4_000_000:
        return 0.10
    return 0.99 - 0.89 * (decoded - 400_000) / 3_600_000


def _is_merge(event: Any) -> bool:
    return (
        isinstance(event, yaml.ScalarEvent)
        and event.value == "<<"
        and (event.implicit[0] or event.tag == _TAG + "merge")
    )


def _scalar(event: Any) -> Any:
    tag = event.tag or ""
    if tag in ("", "!") and not event.implicit[0]:
        return event.value
    short = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ("" if tag in ("", "!") else "?")
    if short == "?":
        return event.value
    if short == "binary":
        try:
            return base64.b64decode(event.value, validate=True).decode(errors="replace")
        except binascii.Error:
            raise YAMLError("yaml: !!binary value contains invalid base64 data") from None
    kind, value = resolve(event.value) if short != STR else (STR, event.value)
    if short in ("", STR, kind) or short == "timestamp":
        return value
    if short == "float" and kind == "int":
        return float(value)
    raise YAMLError(f"yaml: cannot decode !!{kind} `{event.value}` as a !!{short}")


def _hashable(key: Any) -> tuple[str, Any]:
    """Keys are told apart by type and value, as in a Go map of interfaces (1, "1" and true are
    three keys)."""
    if isinstance(key, dict | list):
        raise YAMLError(f"yaml: invalid map key: {go_syntax(_jsonable(key), 'interface {}')}")
    return type(key).__name__, key


def _jsonable(value: Any) -> Any:
    """Keys become strings; numbers go the way through JSON text that they go in Go (``1.0`` is 1,
    beyond int64 is a float)."""
    if isinstance(value, dict):
        return {_key_text(k, v): _jsonable(v) for (_, k), v in value.items()}
    if isinstance(value, list):
        return [_jsonable(v) for v in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise YAMLError(
                f"json: unsupported value: "
                f"{'NaN' if value != value else '+Inf' if value > 0 else '-Inf'}"
            )
        text = go_float(value)
        if "." in text or "e" in text:
            return value
        value = int(text)
    return value if is_int64(value) else float(value)


def _key_text(key: Any, value: Any) -> str:
    """Raises YAMLError for null, which is no key."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return (
            ".nan"
            if key != key
            else ".inf"
            if key == float("inf")
            else "-.inf"
            if key == float("-inf")
            else f"{key:.8g}"
        )
    shown = "<nil>" if value is None else go_syntax(_jsonable(value), "interface {}")
    raise YAMLError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")


class _Dumper(CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_str(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        style = "|"
    elif resolve(text)[0] != STR or is_base60(text) or is_timestamp(text) or text == "":
        style = '"'
    return dumper.represent_scalar(_TAG + "str", text, style=style)


def _represent_float(dumper: Any, number: float) -> Any:
    return dumper.represent_scalar(_TAG + "float", go_float(number))


_representers: list[tuple[type, Callable[[Any, Any], Any]]] = [
    (str, _represent_str),
    (float, _represent_float),
    (RawObject, CSafeDumper.represent_dict),
]
for _type, _represent in _representers:
    _Dumper.add_representer(_type, _represent)
