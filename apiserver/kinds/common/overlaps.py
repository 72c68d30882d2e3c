"""Files of one volume that stand in each other's way: two at one path, or one where another needs a
directory (k8s.io/kubernetes ``api/pod/warnings.go``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import ReadOnlyObject


class _File(NamedTuple):
    path: str
    source: str = ""
    """Where the file comes from, as a message says it; "" where the volume has one source."""

    def __str__(self) -> str:
        return go_quote(self.path) + (f" ({self.source})" if self.source else "")


@dataclass(slots=True)
class _Directory:
    here: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    """Indexes of files at this path, and of those at or below it."""
    children: dict[str, _Directory] = field(default_factory=dict)


def volume_warnings(volumes: Iterable[ReadOnlyObject]) -> Iterator[str]:
    for volume in volumes:
        beginning = f"volume {go_quote(volume.get('name', ''))}"
        for what, source in _sources(volume):
            files = [_File(path) for path in _items(source)]
            yield from _told(f"{beginning} ({what})", files)
        projected = volume.get("projected")
        if projected is not None:
            parts = projected.get("sources") or ()
            for part in parts:
                if all(value is None for value in part.values()):
                    yield f"{beginning} (Projected) has no sources provided"
            files = [file for part in parts for file in _projected(part)]
            yield from _told(f"{beginning} (Projected)", files)


def _sources(volume: ReadOnlyObject) -> Iterator[tuple[str, ReadOnlyObject]]:
    for member, kind, name in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "DownwardAPI", ""),
    ):
        source = volume.get(member)
        if source is not None:
            yield f"{kind} {go_quote(source.get(name, ''))}" if name else kind, source


def _items(source: ReadOnlyObject) -> Iterator[str]:
    for item in source.get("items") or ():
        yield item.get("path", "")


def _projected(part: ReadOnlyObject) -> Iterator[_File]:
    """Of the first source that the part has and that says where its files go."""
    for member, kind in (
        ("configMap", "ConfigMap"),
        ("secret", "Secret"),
        ("downwardAPI", "DownwardAPI"),
    ):
        source = part.get(member) or {}
        if source.get("items"):
            named = "" if member == "downwardAPI" else f" {go_quote(source.get('name', ''))}"
            yield from (_File(path, f"{kind}{named}") for path in _items(source))
            return
    token = part.get("serviceAccountToken")
    if token is not None:
        yield _File(token.get("path", ""), "ServiceAccountToken")


def _told(volume: str, files: list[_File]) -> Iterator[str]:
    root, seen = _Directory(), list[_File]()
    for file in files:
        file = file._replace(path=file.path.rstrip("/"))
        if file.path:
            for i in _collisions(root, file.path):
                yield f"{volume}: overlapping paths: {file} with {seen[i]}"
            _add(root, file.path, len(seen))
        seen.append(file)


def _collisions(root: _Directory, path: str) -> list[int]:
    """Indexes of the files before that are above, at or below the path, in order."""
    found: list[int] = []
    directory: _Directory | None = root
    for name in path.split("/"):
        directory = directory.children.get(name) if directory is not None else None
        if directory is None:
            break
        found += directory.here
    return sorted({*found, *(directory.below if directory is not None else ())})


def _add(root: _Directory, path: str, index: int) -> None:
    directory = root
    for name in path.split("/"):
        directory = directory.children.setdefault(name, _Directory())
        directory.below.append(index)
    directory.here.append(index)
