"""What surrounds mutating admission of a create or an update: managedFields that it broke come
back, doubled owner references go (k8s.io/apiserver ``endpoints/handlers/fieldmanager/admission.go``
and ``handlers/create.go``), and nobody grants more than they hold."""

from __future__ import annotations

from admission.attributes import Attributes
from apiserver.fieldmanager.managed import entries_of, warning_after_admission, with_entries
from apiserver.meta.objects import Object, seen_before
from apiserver.registry.core import Registry
from apiserver.registry.objectmeta import ensure_namespace
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.rights import check_grant
from apiserver.registry.scope import Scope

_DOUBLED = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in "
    "1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) "
    "observed: {}"
)


async def mutate(registry: Registry, scope: Scope, asker: Asker, attributes: Attributes) -> Object:
    """The object as mutating admission leaves it; ``attributes.object`` is then that one. Raises
    ApiError to refuse."""
    assert attributes.object is not None, "deletions have no object to change"
    before = entries_of(attributes.object)
    await registry.chain.admit(attributes, registry.lookup(scope.tenant, asker))
    obj: Object = attributes.object
    ensure_namespace(obj["metadata"], scope.namespace)
    after = entries_of(obj)
    if after == []:
        obj = attributes.object = with_entries(obj, [])
    elif after is not before and (warning := warning_after_admission(after)):
        scope.warn(warning)
        obj = attributes.object = with_entries(obj, before or [])
    await drop_doubled_owners(scope, asker, obj, " after mutating admission happens")
    await check_grant(registry, scope, obj, attributes.old)
    return obj


_MANY_OWNERS = 1000
"""From so many on it is worth a change of threads."""


async def drop_doubled_owners(scope: Scope, asker: Asker, obj: Object, when: str = "") -> None:
    """Owner references that are there already go, with a warning. ``when``: what the warning says
    about it, with a blank before it."""
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    if len(owners) < _MANY_OWNERS:
        _drop_doubled(scope, obj, owners, when)
    else:
        await by_size(asker, lambda: _drop_doubled(scope, obj, owners, when))


def _drop_doubled(scope: Scope, obj: Object, owners: list[Object], when: str) -> None:
    again = list(seen_before(owners))
    if any(again):
        doubled = [
            owner.get("uid", "") for owner, repeated in zip(owners, again, strict=True) if repeated
        ]
        scope.warn(_DOUBLED.format(when, ", ".join(doubled)))
        obj["metadata"]["ownerReferences"] = [
            owner for owner, repeated in zip(owners, again, strict=True) if not repeated
        ]
