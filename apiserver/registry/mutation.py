"""What surrounds mutating admission of a create or an update: managedFields that it broke come back, doubled owner references go
(k8s.io/apiserver ``endpoints/handlers/fieldmanager/admission.go`` and ``handlers/create.go``)."""

from __future__ import annotations

from admission.attributes import Attributes, Object
from apiserver.fieldmanager.managed import entries_of, warning_after_admission, with_entries
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope

_DOUBLED = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


async def mutate(registry: Registry, scope: Scope, attributes: Attributes) -> Object:
    """The object as mutating admission leaves it; ``attributes.object`` is then that one. Raises ApiError to refuse."""
    assert attributes.object is not None, "deletions have no object to change"
    before = entries_of(attributes.object)
    await registry.chain.admit(attributes, registry.lookup(scope.tenant))
    obj: Object = attributes.object
    after = entries_of(obj)
    if after is not before and (warning := warning_after_admission(after)):
        scope.warn(warning)
        obj = attributes.object = with_entries(obj, before or [])
    drop_doubled_owners(scope, obj, " after mutating admission happens")
    return obj


def drop_doubled_owners(scope: Scope, obj: Object, when: str = "") -> None:
    """Owner references that are there already go, with a warning. ``when``: what the warning says about it, with a blank before it."""
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Object] = []
    doubled: list[str] = []
    for owner in owners:
        if owner in kept:
            doubled.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if doubled:
        scope.warn(_DOUBLED.format(when, ", ".join(doubled)))
        obj["metadata"]["ownerReferences"] = kept
