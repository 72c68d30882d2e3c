"""PodTolerationRestriction: pods tolerate what annotations of their namespace, or else the
installation, give to all of them, and nothing but what a whitelist has (kubernetes
``plugin/pkg/admission/podtolerationrestriction``, ``pkg/util/tolerations``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from admission.attributes import Attributes, Lookup
from admission.config import ConfigError, Section
from admission.objects import WRITES, OfObjects
from admission.rules import find_namespace
from apiserver.effort import spend
from apiserver.errors import PlainError
from apiserver.kinds.common.podresources import qos_class
from apiserver.meta.objects import Object

DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_PRESSURE: Object = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_TEXTS = ("key", "operator", "value", "effect")
_COMPARE = 1
"""Steps (`apiserver.effort`)."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What holds in namespaces without the annotations."""

    default: tuple[Object, ...] = ()
    whitelist: tuple[Object, ...] = ()

    @classmethod
    def read(cls, section: Section) -> Configuration:
        """``section``: a Configuration of podtolerationrestriction.admission.k8s.io. Raises
        ConfigError."""
        section.of_kind("podtolerationrestriction.admission.k8s.io", ["v1alpha1"], "Configuration")
        default, whitelist = (
            tuple(_toleration_of(part) for part in section.sections(name))
            for name in ("default", "whitelist")
        )
        section.end()
        return cls(default, whitelist)


class PodTolerationRestriction(OfObjects):
    name = "PodTolerationRestriction"
    operations = WRITES

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = configuration or Configuration()

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        added: Sequence[Object] = ()
        if attributes.operation == "CREATE":
            of_namespace = await _annotated(attributes, lookup, DEFAULTS)
            added = self._configuration.default if of_namespace is None else of_namespace
        if qos_class(spec) != "BestEffort":
            added = [*added, _PRESSURE]
        if added:
            together = [*added, *_plain(spec.get("tolerations"))]
            spec["tolerations"] = await lookup.run(lambda: merge(together))
        await self.validate(attributes, lookup)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Raises PlainError, as upstream does, whose answer is 500 then."""
        assert attributes.object is not None
        tolerations = _plain(attributes.object["spec"].get("tolerations"))
        if not tolerations:
            return
        whitelist, whose = await _annotated(attributes, lookup, WHITELIST), "namespace"
        if whitelist is None:
            whitelist, whose = self._configuration.whitelist, "cluster"
        allowed = whitelist
        if not await lookup.run(lambda: within(tolerations, allowed)):
            raise PlainError(
                "pod tolerations (possibly merged with namespace default tolerations) conflict "
                f"with its {whose} whitelist"
            )


async def _annotated(
    attributes: Attributes, lookup: Lookup, annotation: str
) -> Sequence[Object] | None:
    """None where the namespace does not have the annotation. Raises NotFound, PlainError."""
    namespace = await find_namespace(lookup, attributes.namespace)
    text = (namespace["metadata"].get("annotations") or {}).get(annotation)
    if not text:
        return None if text is None else ()
    try:
        listed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise PlainError(f"annotation {annotation}: {error}") from None
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise PlainError(f"annotation {annotation}: no list of tolerations")
    try:
        return [_toleration_of(Section(part, f"[{i}]")) for i, part in enumerate(listed)]
    except ConfigError as error:
        raise PlainError(f"annotation {annotation}: {error}") from None


def _toleration_of(section: Section) -> Object:
    """Raises ConfigError for a value of another type; what no toleration has is let be."""
    toleration: Object = {name: text for name in _TEXTS if (text := section.text(name))}
    seconds = section.integer("tolerationSeconds")
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


# --- tolerations as sets --------------------------------------------------------------------------
def merge(tolerations: Sequence[Object]) -> list[Object]:
    """Without those that another one covers; of equal ones the first stays."""
    kept: list[Object] = []
    for i, one in enumerate(tolerations):
        if any(_covers(other, one) for other in kept):
            continue
        if any(other != one and _covers(other, one) for other in tolerations[i + 1 :]):
            continue
        kept.append(one)
    return kept


def within(tolerations: Sequence[Object], whitelist: Sequence[Object]) -> bool:
    """Whether each is covered by one of the whitelist, if that has any."""
    return not whitelist or all(any(_covers(w, t) for w in whitelist) for t in tolerations)


def _covers(wide: Object, narrow: Object) -> bool:
    """Whether ``wide`` tolerates all that ``narrow`` does."""
    spend(_COMPARE)
    if wide == narrow:
        return True
    operator, effect = wide.get("operator"), wide.get("effect")
    everything = "key" not in wide and operator == "Exists"
    if narrow.get("key") != wide.get("key") and not everything:
        return False
    if effect is not None and effect != narrow.get("effect"):
        return False
    if effect == "NoExecute" and (longest := wide.get("tolerationSeconds")) is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > longest:
            return False
    if operator in (None, "Equal"):
        return narrow.get("operator") == "Equal" and narrow.get("value") == wide.get("value")
    return bool(operator == "Exists")


def _plain(tolerations: Sequence[Object] | None) -> list[Object]:
    """Without empty fields, so that they can be compared."""
    return [{k: v for k, v in t.items() if v not in ("", None)} for t in tolerations or ()]
