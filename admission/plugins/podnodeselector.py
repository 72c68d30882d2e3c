"""PodNodeSelector: pods run on the nodes that an annotation of their namespace selects (kubernetes
``plugin/pkg/admission/podnodeselector``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from admission.attributes import Attributes, Lookup
from admission.objects import PODS, OfObjects
from apiserver.errors import Forbidden, PlainError
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import label_key, label_value

NAMESPACES = GroupResource("", "namespaces")
ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"


class PodNodeSelector(OfObjects):
    """Without a configuration file: no default selector, and nothing is whitelisted."""

    name = "PodNodeSelector"

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        selector = await self._selector(attributes, lookup)
        if selector and attributes.object is not None:
            spec = attributes.object["spec"]
            spec["nodeSelector"] = {**selector, **(spec.get("nodeSelector") or {})}

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        await self._selector(attributes, lookup)

    async def _selector(self, attributes: Attributes, lookup: Lookup) -> Mapping[str, str]:
        """Of the namespace. Raises Forbidden where the pod selects other nodes."""
        assert attributes.object is not None
        namespace = await lookup.get(NAMESPACES, "", attributes.namespace)
        if namespace is None:
            namespace = await lookup.get(NAMESPACES, "", attributes.namespace, fresh=True)
        if namespace is None:
            raise PlainError(f"namespace {attributes.namespace} does not exist")
        annotations = namespace["metadata"].get("annotations") or {}
        selector = _parse(annotations.get(ANNOTATION, ""))
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
