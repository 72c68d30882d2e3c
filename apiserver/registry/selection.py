"""Selection: the label and field selectors of one request, parsed, checked against the kind, and ready to match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apiserver.errors import BadRequest
from apiserver.fielderrors import go_quote
from apiserver.kinds.base import Resource
from apiserver.meta.fields import FieldSelector, FieldSelectorError, parse_field_selector
from apiserver.meta.labels import LabelSelector, LabelSelectorError, parse_label_selector
from apiserver.registry.options import ListOptions


@dataclass(frozen=True, slots=True)
class Selection:
    labels: LabelSelector
    fields: FieldSelector
    everything: bool

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        return self.labels.matches(labels) and self.fields.matches(fields)

    @property
    def name(self) -> str:
        """The one name that the field selector leaves possible, or ""."""
        return self.fields.exact("metadata.name") or ""

    @property
    def key(self) -> tuple[str, str]:
        """Equal for equal selections: watchers that share it share the work of matching."""
        return str(self.labels), str(self.fields)


def parse(resource: Resource, version: str, options: ListOptions) -> Selection:
    """Raises BadRequest with kube-apiserver's texts."""
    try:
        labels = parse_label_selector(options.label_selector)
        fields = parse_field_selector(options.field_selector)
    except (LabelSelectorError, FieldSelectorError) as e:
        raise BadRequest(str(e)) from None
    if options.field_selector:
        fields = fields.transform(lambda name, value: (known_field(resource, version, name), value))
    return Selection(labels, fields, not options.label_selector and not options.field_selector)


def known_field(resource: Resource, version: str, name: str) -> str:
    """The field's name in the storage version. Raises BadRequest for one that the kind does not select by."""
    own = resource.selectable(version)
    if name == "metadata.name" or (name == "metadata.namespace" and (resource.namespaced or not (own or resource.custom))):
        return name
    if not own and not resource.custom:
        raise BadRequest(f'{go_quote(name)} is not a known field selector: only "metadata.name", "metadata.namespace"')
    found = resource.hooks.field_alias(version, name) if name in own or not resource.custom else ""
    if not found or found not in own:
        raise BadRequest(f"field label not supported: {name}")
    return found
