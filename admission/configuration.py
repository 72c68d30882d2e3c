"""The configurations of all plugins, from an AdmissionConfiguration
(apiserver.config.k8s.io/v1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from admission import names
from admission.config import ConfigError, Section
from admission.plugins import (
    eventratelimit,
    imagepolicy,
    podnodeselector,
    podsecurity,
    quota_limits,
    tolerations,
)


class Files(Protocol):
    """What the document names by a path, which may be relative to it. Raises ConfigError."""

    def read(self, path: str) -> bytes: ...

    def document(self, path: str) -> Section: ...


@dataclass(frozen=True, slots=True)
class Configurations:
    """None, and nothing, where the document does not say it. names: of the plugins that it does
    configure."""

    names: frozenset[str] = frozenset()

    pod_security: podsecurity.Configuration | None = None
    event_limits: Sequence[eventratelimit.Limit] = ()
    node_selectors: podnodeselector.Configuration | None = None
    tolerations: tolerations.Configuration | None = None
    images: imagepolicy.Configuration | None = None
    limited: Sequence[quota_limits.Limited] = ()


def read(document: Section, files: Files) -> Configurations:
    """Raises ConfigError."""
    document.of_kind("apiserver.config.k8s.io", ["v1"], "AdmissionConfiguration")
    configurations, seen = Configurations(), set[str]()
    for plugin in document.sections("plugins"):
        name = plugin.text("name")
        if name not in _READERS:
            why = "takes no configuration" if name in names.ORDER else "is no admission plugin"
            raise plugin.wrong("name", f'"{name}" {why}')
        if name in seen:
            raise plugin.wrong("name", f'"{name}" is there twice')
        seen.add(name)
        path, section = plugin.text("path"), plugin.document("configuration")
        try:
            configurations = _READERS[name](
                files.document(path) if path else section, files, configurations
            )
        except ConfigError as error:
            raise ConfigError(f"{name}: {f'{path}: ' if path else ''}{error}") from None
        plugin.end()
    document.end()
    return replace(configurations, names=frozenset(seen))


def _images(section: Section, files: Files, configurations: Configurations) -> Configurations:
    policy = section.section("imagePolicy")
    path = policy.text("kubeConfigFile")
    if not path:
        raise policy.wrong("kubeConfigFile", "must be set")
    section.end()
    images = imagepolicy.Configuration.read(policy, path, files.document(path), files.read)
    return replace(configurations, images=images)


_Reader = Callable[[Section, Files, Configurations], Configurations]
_READERS: Mapping[str, _Reader] = {
    "PodSecurity": lambda section, files, configurations: replace(
        configurations, pod_security=podsecurity.Configuration.read(section)
    ),
    "EventRateLimit": lambda section, files, configurations: replace(
        configurations, event_limits=eventratelimit.read(section)
    ),
    "PodNodeSelector": lambda section, files, configurations: replace(
        configurations, node_selectors=podnodeselector.Configuration.read(section)
    ),
    "PodTolerationRestriction": lambda section, files, configurations: replace(
        configurations, tolerations=tolerations.Configuration.read(section)
    ),
    "ResourceQuota": lambda section, files, configurations: replace(
        configurations, limited=quota_limits.read(section)
    ),
    "ImagePolicyWebhook": _images,
}
