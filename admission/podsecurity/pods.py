"""What checks look at of a pod, and the words in which they say what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from apiserver.kinds.common import visit
from apiserver.meta.objects import Object
from apiserver.meta.once import once


class Violation(NamedTuple):
    """reason: what kind it is; detail: who does it."""

    reason: str
    detail: str


Check = Callable[["Pod"], Violation | None]


@dataclass
class Pod:
    """A pod, or the template of one."""

    metadata: Object
    spec: Object

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata.get("annotations") or {}

    @property
    def context(self) -> Mapping[str, Any]:
        """securityContext of the pod."""
        return self.spec.get("securityContext") or {}

    @once
    def containers(self) -> Sequence[tuple[str, Object, Mapping[str, Any]]]:
        """(name, container, its securityContext) of all, in the order in which they are named."""
        listed = visit.containers(self.spec)
        return [(c.get("name", ""), c, c.get("securityContext") or {}) for c in listed]

    @property
    def windows(self) -> bool:
        return bool((self.spec.get("os") or {}).get("name") == "windows")

    @property
    def in_user_namespace(self) -> bool:
        return self.spec.get("hostUsers") is False

    def where(self, holds: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        """Names of the containers whose securityContext fulfils a condition."""
        return [name for name, _, context in self.containers if holds(context)]

    def having(
        self, values: Callable[[Mapping[str, Any]], Collection[str]]
    ) -> tuple[list[str], list[str]]:
        """``values`` takes from a securityContext what is wrong with it: the names of the
        containers with any, and all that is wrong, sorted."""
        by_container = [(name, values(context)) for name, _, context in self.containers]
        return [name for name, of in by_container if of], sorted(
            {v for _, of in by_container for v in of}
        )

    def setting(
        self, values: Callable[[Mapping[str, Any]], Collection[str]]
    ) -> tuple[str, list[str]]:
        """As `having`, with the pod's own securityContext. Who has any is put as messages put it:
        ``pod and containers "a", "b"``, "" for nobody."""
        own, (names, theirs) = values(self.context), self.having(values)
        who = ["pod"] if own else []
        if names:
            who.append(containers_of(names))
        return " and ".join(who), sorted({*own, *theirs})

    def setters(self, holds: Callable[[Mapping[str, Any]], bool]) -> str:
        """Pod and containers whose securityContext fulfils a condition, put as by `setting`."""
        return self.setting(lambda context: ("",) if holds(context) else ())[0]


def quoted(items: Sequence[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def plural(word: str, items: Collection[object], more: str = "") -> str:
    return word if len(items) == 1 else more or f"{word}s"


def containers_of(names: Sequence[str]) -> str:
    return f"{plural('container', names)} {quoted(names)}"
