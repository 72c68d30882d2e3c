"""Configurations of plugins, read field by field: what is wrong is named by its path, and what
nobody reads is wrong too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any


class ConfigError(ValueError):
    """The text names the field and what is wrong with it."""


class Section:
    """A mapping of a document. path: where it stands, "" for the document itself."""

    def __init__(self, value: Any, path: str = "") -> None:
        """Raises ConfigError where ``value`` is none."""
        if not isinstance(value, Mapping):
            raise ConfigError(f"{path or 'the document'} must be a mapping")
        self._left, self.path = {str(name): of for name, of in value.items()}, path

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def wrong(self, name: str, why: str) -> ConfigError:
        return ConfigError(f"{self.at(name)} {why}")

    def has(self, name: str) -> bool:
        return self._left.get(name) is not None

    def end(self) -> None:
        """Raises ConfigError where something has not been asked for."""
        if self._left:
            raise self.wrong(min(self._left), "is no field of this configuration")

    def of_kind(self, group: str, versions: Collection[str], kind: str) -> None:
        """Raises ConfigError for a document of another kind."""
        accepted = [f"{group}/{version}" for version in versions]
        if self.text("apiVersion") not in accepted:
            raise self.wrong("apiVersion", f"must be {' or '.join(accepted)}")
        if self.text("kind") != kind:
            raise self.wrong("kind", f"must be {kind}")

    # --- fields -----------------------------------------------------------------------------------
    def text(self, name: str, default: str = "") -> str:
        value = self._take(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, "must be a string")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._take(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "must be true or false")
        return value

    def integer(self, name: str) -> int | None:
        value = self._take(name, None)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self.wrong(name, "must be a whole number")
        return value

    def texts(self, name: str) -> Sequence[str]:
        value = self._list(name)
        if not all(isinstance(part, str) for part in value):
            raise self.wrong(name, "must be a list of strings")
        return value

    def sections(self, name: str) -> Sequence[Section]:
        return [Section(part, f"{self.at(name)}[{i}]") for i, part in enumerate(self._list(name))]

    def section(self, name: str) -> Section:
        """Empty where the field is absent."""
        return Section(self._take(name, {}), self.at(name))

    def document(self, name: str) -> Section:
        """As `section`; its fields are named as if it stood alone."""
        return Section(self._take(name, {}))

    def pairs(self, name: str) -> Mapping[str, str]:
        value = self._take(name, {})
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            raise self.wrong(name, "must map names to strings")
        return {str(key): of for key, of in value.items()}

    def _list(self, name: str) -> list[Any]:
        value = self._take(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "must be a list")
        return value

    def _take(self, name: str, default: Any) -> Any:
        value = self._left.pop(name, None)
        return default if value is None else value
