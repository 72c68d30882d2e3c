"""AlwaysPullImages: who runs an image has to be able to pull it (kubernetes
``plugin/pkg/admission/alwayspullimages``)."""

from __future__ import annotations

from collections.abc import Iterator

from admission.attributes import Attributes, Lookup
from admission.objects import WRITES, OfObjects
from admission.refusal import forbidden
from apiserver.fielderrors import FieldPath, not_supported
from apiserver.kinds.common.visit import containers, visit_containers
from apiserver.meta.objects import Object

_ALWAYS = "Always"


class AlwaysPullImages(OfObjects):
    name = "AlwaysPullImages"
    operations = WRITES

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if _no_new_images(attributes):
            return
        for _, part, member in _pulled(attributes.object):
            part[member] = _ALWAYS

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Raises Forbidden where something has changed it back."""
        if _no_new_images(attributes):
            return
        for path, part, member in _pulled(attributes.object):
            if part.get(member) != _ALWAYS:
                error = not_supported(path.child(member), part.get(member, ""), [_ALWAYS])
                why = f"{error.path}: {error.body()}"
                raise forbidden(attributes, why)


def _pulled(pod: Object | None) -> Iterator[tuple[FieldPath, Object, str]]:
    """(path, part of the pod that names an image, the member that says when it is pulled)."""
    spec, root = (pod or {})["spec"], FieldPath("spec")
    for container, path in visit_containers(spec, root):
        yield path, container, "imagePullPolicy"
    for i, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield root.child("volumes").at(i).child("image"), volume["image"], "pullPolicy"


def _no_new_images(attributes: Attributes) -> bool:
    if attributes.old is None or attributes.object is None:
        return False
    new, old = (
        {container.get("image") for container in containers(pod["spec"])}
        for pod in (attributes.object, attributes.old)
    )
    return new <= old
