"""PodNodeSelector: pods run on the nodes that an annotation of their namespace selects, or else the
installation's default, and select themselves only what a whitelist has (kubernetes
``plugin/pkg/admission/podnodeselector``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from admission.attributes import Attributes, Lookup
from admission.config import Section
from admission.objects import PODS, OfObjects
from apiserver.errors import Forbidden, PlainError
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import label_key, label_value

NAMESPACES = GroupResource("", "namespaces")
ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"


_DEFAULT = "clusterDefaultNodeSelector"


@dataclass(frozen=True, slots=True)
class Configuration:
    """default: of namespaces without the annotation; whitelists: by namespace."""

    default: Mapping[str, str] = field(default_factory=dict)
    whitelists: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, section: Section) -> Configuration:
        """``section``: with podNodeSelectorPluginConfig. Raises ConfigError."""
        member = "podNodeSelectorPluginConfig"
        selectors = {}
        for name, text in section.pairs(member).items():
            try:
                selectors[name] = _parse(text)
            except PlainError as error:
                raise section.wrong(
                    f"{member}.{name}", f"is no selector: {error.message}"
                ) from None
        section.end()
        return cls(selectors.pop(_DEFAULT, {}), selectors)


class PodNodeSelector(OfObjects):
    name = "PodNodeSelector"

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = configuration or Configuration()

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        selector = await self._selector(attributes, lookup)
        if selector and attributes.object is not None:
            spec = attributes.object["spec"]
            spec["nodeSelector"] = {**selector, **(spec.get("nodeSelector") or {})}

        await self.validate(attributes, lookup)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        await self._selector(attributes, lookup)
        assert attributes.object is not None
        whitelist = self._configuration.whitelists.get(attributes.namespace)
        own = attributes.object["spec"].get("nodeSelector") or {}
        if whitelist and not own.items() <= whitelist.items():
            why = "pod node label selector labels conflict with its namespace whitelist"
            raise Forbidden(PODS, attributes.object["metadata"].get("name", ""), why)

    async def _selector(self, attributes: Attributes, lookup: Lookup) -> Mapping[str, str]:
        """Of the namespace. Raises Forbidden where the pod selects other nodes."""
        assert attributes.object is not None
        namespace = await lookup.get(NAMESPACES, "", attributes.namespace)
        if namespace is None:
            namespace = await lookup.get(NAMESPACES, "", attributes.namespace, fresh=True)
        if namespace is None:
            raise PlainError(f"namespace {attributes.namespace} does not exist")
        annotations = namespace["metadata"].get("annotations") or {}
        selector = self._configuration.default
        if ANNOTATION in annotations:
            selector = _parse(annotations[ANNOTATION])
        own = attributes.object["spec"].get("nodeSelector") or {}
        if any(own.get(name, value) != value for name, value in selector.items()):
            why = "pod node label selector conflicts with its namespace node label selector"
            raise Forbidden(PODS, attributes.object["metadata"].get("name", ""), why)
        return selector


def _parse(text: str) -> Mapping[str, str]:
    """``a=b,c=d``. Raises PlainError (k8s.io/apimachinery labels.ConvertSelectorToLabelsMap)."""
    labels: dict[str, str] = {}
    for part in text.split(",") if text else ():
        name, *value = part.split("=")
        if len(value) != 1:
            raise PlainError(f"invalid selector: [{part.replace('=', ' ')}]")
        name, text = name.strip(), value[0].strip()
        _check("<nil>", name, label_key(name))
        _check(f"[{name}]", text, label_value(text))
        labels[name] = text
    return labels


def _check(path: str, text: str, complaints: Sequence[str]) -> None:
    if complaints:
        raise PlainError(f"{path}: Invalid value: {go_quote(text)}: {'; '.join(complaints)}")
