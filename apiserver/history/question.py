"""What a list of revisions is asked for: field selectors of the list, all of them with ``=``.

    object.resource    deployments.apps, deployments, deploy, Deployment
    object.apiVersion, object.kind    apps/v1, Deployment: the same in other words; the apiVersion
                       is also the one that objects are shown in
    object.name, object.uid
    type               ADDED, MODIFIED, DELETED
    asOf               a time (RFC 3339) or a resourceVersion: not what was written, but what there
                       was

The label selector is about the objects' labels as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.errors import BadRequest
from apiserver.kinds.served import Resource
from apiserver.meta.fields import FieldSelectorError, parse_field_selector
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.labels import LabelSelector, LabelSelectorError, parse_label_selector
from apiserver.registry.options import ListOptions

KNOWN = (
    "object.resource",
    "object.apiVersion",
    "object.kind",
    "object.name",
    "object.uid",
    "type",
    "asOf",
)
TYPES = ("ADDED", "MODIFIED", "DELETED")


@dataclass(frozen=True, slots=True)
class Question:
    """resource: the one that is meant, with its own group; None: all that the user may list.
    definition_gone: it is named, but not there (any more)."""

    resource: GroupResource | None
    definition_gone: bool
    api_version: str
    name: str
    uid: str
    type: str
    as_of: str
    labels: LabelSelector

    def __str__(self) -> str:
        """Equal for equal questions: continue tokens are bound to it."""
        kind = "" if self.resource is None else str(self.resource)
        parts = (kind, self.api_version, self.name, self.uid, self.type, self.as_of)
        return "\0".join((*parts, str(self.labels)))


def parse(options: ListOptions, resources: Sequence[Resource], *, namespaced: bool) -> Question:
    """``resources``: those of the tenant. Raises BadRequest."""
    try:
        labels = parse_label_selector(options.label_selector)
        selector = parse_field_selector(options.field_selector)
    except (LabelSelectorError, FieldSelectorError) as e:
        raise BadRequest(str(e)) from None
    selected: dict[str, str] = {}
    for requirement in selector.requirements:
        if requirement.field not in KNOWN:
            text = f"field label not supported: {requirement.field} (there are {', '.join(KNOWN)})"
            raise BadRequest(text)
        if requirement.operator != "=" or selected.get(requirement.field, requirement.value) != (
            requirement.value
        ):
            raise BadRequest(f"{requirement.field} can be selected by one value, with =")
        selected[requirement.field] = requirement.value
    if selected.get("type", TYPES[0]) not in TYPES:
        raise BadRequest(f"type is one of {', '.join(TYPES)}")
    resource, gone = _resource(selected, resources, namespaced)
    return Question(
        resource,
        gone,
        selected.get("object.apiVersion", ""),
        selected.get("object.name", ""),
        selected.get("object.uid", ""),
        selected.get("type", ""),
        selected.get("asOf", ""),
        labels,
    )


def _resource(
    selected: dict[str, str], resources: Sequence[Resource], namespaced: bool
) -> tuple[GroupResource | None, bool]:
    named, kind = selected.get("object.resource", ""), selected.get("object.kind", "")
    api_version = selected.get("object.apiVersion", "")
    if not named and not kind:
        if api_version or selected.get("object.name"):
            raise BadRequest("object.resource or object.kind must say what kind of object is meant")
        return None, False
    try:
        group_asked = GroupVersion.parse(api_version).group if api_version else None
    except ValueError as error:
        raise BadRequest(str(error)) from None
    resource = next((r for r in resources if _is_meant(r, named, kind, group_asked)), None)
    if resource is None:
        plural, _, group = named.partition(".")
        if group and not kind:
            return GroupResource(group, plural), True
        raise BadRequest(f"the server doesn't have a resource type {named or kind!r}")
    if resource.namespaced != namespaced:
        where, other = ("a", "revisions") if resource.namespaced else ("no", "clusterrevisions")
        raise BadRequest(f"{resource.group_resource} are in {where} namespace: ask for {other}")
    return resource.group_resource, False


def _is_meant(resource: Resource, named: str, kind: str, group_asked: str | None) -> bool:
    if named:
        plural, dot, group = named.lower().partition(".")
        names = (resource.resource, resource.singular, resource.kind.lower(), *resource.short_names)
        if plural not in names or (dot and group != resource.group):
            return False
    if kind and kind != resource.kind:
        return False
    return group_asked is None or group_asked == resource.group
