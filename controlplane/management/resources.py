"""Which resources a word of a command means: kinds, plurals, singulars and short names, with a
group or without, as kubectl takes them.

Built-in resources are known anywhere, those of definitions in their tenant. What a tenant's own API
server serves only that one knows: its groups are told apart.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_within

_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
_NAMES = "data__status__acceptedNames"
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?\.")


class Named(NamedTuple):
    """words: what it may be called, in small letters."""

    group: str
    resource: str
    namespaced: bool
    words: frozenset[str]

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(frozen=True)
class Resources:
    """elsewhere: API groups that others serve, whose resources are not known."""

    all: Sequence[Named]
    elsewhere: frozenset[str] = frozenset()

    def meant(self, word: str) -> list[Named]:
        """All that are called so, the built-in ones first; ``deployments.v1.apps`` has a version,
        which is not looked at."""
        name, group = split(word.lower())
        return [one for one in self.all if name in one.words and (not group or group == one.group)]

    def serves(self, resource: GroupResource) -> bool:
        """Whether it, or an API server that is not asked, may serve that and nothing else."""
        return resource.group in self.elsewhere or any(
            (one.group, one.resource) == resource for one in self.all
        )

    def near(self, word: str) -> str:
        """The fix for a word that means nothing."""
        name, _ = split(word.lower())
        same = [str(one) for one in self.all if name in one.words]
        if not same:
            texts = {text for one in self.all for text in (*one.words, str(one))}
            same = difflib.get_close_matches(word.lower(), sorted(texts), n=1, cutoff=0.7)
        if same:
            return f"did you mean {' or '.join(same[:3])}?"
        return "write it as `kubectl api-resources` does: deployments.apps, deploy, configmaps."


def split(word: str) -> tuple[str, str]:
    """Name and group of ``deployments.apps`` and ``deployments.v1.apps``."""
    name, _, group = word.partition(".")
    return name, _VERSION.sub("", group, count=1)


def built_in() -> list[Named]:
    from apiserver.kinds import catalog  # all kinds, and a second with them

    return [
        named(r.group, r.resource, r.namespaced, (r.singular, r.kind, *r.short_names))
        for r in catalog.resources().values()
    ]


def named(group: str, resource: str, namespaced: bool, words: Sequence[str]) -> Named:
    return Named(group, resource, namespaced, frozenset(w.lower() for w in (resource, *words) if w))


def of_tenant(tenant: int) -> Resources:
    """``tenant``: its number."""
    with django_within(tenant):
        definitions = list(
            _rows(tenant, _DEFINITIONS).values_list(
                "data__spec__scope", "data__spec__group", _NAMES
            )
        )
        services = _rows(tenant, _SERVICES).filter(data__spec__service__isnull=False)
        elsewhere = frozenset(services.values_list("data__spec__group", flat=True))
    custom = [_custom(*definition) for definition in definitions if definition[2]]
    return Resources([*built_in(), *custom], elsewhere)


def _rows(tenant: int, of: GroupResource) -> QuerySet[ObjectRow]:
    return ObjectRow.objects.filter(tenant_id=tenant, api_group=of.group, resource=of.resource)


def _custom(scope: str, group: str, names: Object) -> Named:
    words = (names.get("singular", ""), names.get("kind", ""), *(names.get("shortNames") or ()))
    return named(group, names.get("plural", ""), scope == "Namespaced", words)
