"""Field validation: what becomes of unknown and duplicate fields under Ignore, Warn and Strict.

Source: k8s.io/apiserver ``endpoints/handlers/rest.go`` (addStrictDecodingWarnings),
``endpoints/filters/warning.go`` (truncation), k8s.io/apimachinery ``util/net`` (the header's form).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from apiserver.codec.json import Duplicates
from apiserver.errors import BadRequest, Invalid
from apiserver.fielderrors import invalid
from apiserver.meta.gvk import GroupKind, GroupVersionKind

IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"
_YAML_PREFIXES = (
    "yaml: unmarshal errors:\n",
    "error converting YAML to JSON: yaml: unmarshal errors:\n",
)
_TOTAL_RUNES = 4 * 1024
_ITEM_RUNES = 256
MOST_WARNINGS = _TOTAL_RUNES + 1
"""No header is written of any that follow, however short they are."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def directive(value: str) -> str:
    """The level that the query parameter fieldValidation stands for; "" is Warn."""
    return value or WARN


def join_errors(duplicates: Sequence[str], unknown: Sequence[str]) -> list[str]:
    """Errors of decoding into a built-in type: for JSON in document order; YAML's one error about
    repeated keys comes first."""
    return (
        duplicates.joined(unknown)
        if isinstance(duplicates, Duplicates)
        else [*duplicates, *unknown]
    )


def strict_text(errors: Sequence[str]) -> str:
    return f"strict decoding error: {', '.join(errors)}"


def reject_strict(
    errors: Sequence[str], kind: GroupVersionKind, expected_kind: str = ""
) -> BadRequest:
    """400 for create and update under Strict. ``kind``: of the body; ``expected_kind``: kind of the
    endpoint, when it is another."""
    return cannot_handle(strict_text(errors), kind, expected_kind)


def cannot_handle(why: str, kind: GroupVersionKind, expected_kind: str = "") -> BadRequest:
    """400 for a body of a known kind that does not decode."""
    return BadRequest(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a '
        f"{expected_kind or kind.kind}: "
        f"{why}"
    )


def reject_patch(errors: Sequence[str], patched: str) -> Invalid:
    """422 for a patch under Strict. ``patched``: as for `patch_invalid`."""
    return patch_invalid(patched, strict_text(errors))


def patch_invalid(patched: str, why: str) -> Invalid:
    """422 for a patch whose result does not decode. ``patched``: the patched object as JSON text
    for JSON and merge patches, the patch in Go's notation (`go_value`) for strategic ones."""
    return Invalid(GroupKind("", ""), "", [invalid("patch", patched, why)])


def warnings_of(errors: Iterable[str]) -> list[str]:
    """Texts for Warning headers: one for each unknown or duplicate field, YAML's lines taken
    apart."""
    texts: list[str] = []
    for error in errors:
        for prefix in _YAML_PREFIXES:
            if error.startswith(prefix):
                texts.extend(line.strip() for line in error.removeprefix(prefix).split("\n"))
                break
        else:
            texts.append(error)
    return texts


def warning_headers(texts: Iterable[str]) -> list[str]:
    """Values of Warning headers for all warnings of one request, in order: each text once, control
    characters refused, texts cut to 256 characters as soon as all together exceed 4,096, and no
    more once the cut ones do."""
    distinct = [t for t in dict.fromkeys(texts) if t]
    printable = [t for t in distinct if not _CONTROL.search(t)]
    if sum(map(len, printable)) <= _TOTAL_RUNES:
        return [_header(t) for t in printable]
    return _truncated(printable)


def _truncated(texts: Sequence[str]) -> list[str]:
    """All up to the one that overflows are written again, cut; later ones only while there is
    room."""
    total, overflowing = 0, 0
    for overflowing, text in enumerate(texts):  # noqa: B007
        total += len(text)
        if total > _TOTAL_RUNES:
            break
    kept = [t[:_ITEM_RUNES] for t in texts[: overflowing + 1]]
    written = sum(map(len, kept))
    for text in texts[overflowing + 1 :]:
        if written >= _TOTAL_RUNES:
            break
        kept.append(text[:_ITEM_RUNES])
        written += len(kept[-1])
    return [_header(t) for t in kept]


def _header(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
