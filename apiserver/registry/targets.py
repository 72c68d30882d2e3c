"""Targets: what of an object a write may change. One strategy for each kind of endpoint, which says
how the kind prepares the object and what it validates (k8s.io/apiserver ``registry/rest``
RESTCreateStrategy and RESTUpdateStrategy).

`apiserver.registry.write` runs them; nothing else asks which subresource is written.
"""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.base import Kind, WriteContext
from apiserver.meta.objects import Object, copy_json
from apiserver.registry import objectmeta
from apiserver.registry.scope import Scope


class Target:
    """writes_object: it is the object itself that is written, so that what the kind needs of other
    objects (an IP, a name) is looked after, too. ``old`` is None for `New` and for no other."""

    writes_object = False

    def prepare(self, scope: Scope, new: Object, old: Object | None, context: WriteContext) -> None:
        """What of ``new`` the server decides, in place; ``old`` stays as it is."""
        raise NotImplementedError

    def errors(
        self, scope: Scope, new: Object, old: Object | None, context: WriteContext
    ) -> FieldErrors:
        """All that hand-written rules find."""
        raise NotImplementedError

    def admitted_form(self, scope: Scope, obj: Object) -> Object:
        """What admission sees of the object."""
        return obj

    def taken(self, scope: Scope, obj: Object, admitted: Object) -> Object:
        """The object after admission has made ``admitted`` of what it was shown."""
        return admitted

    def last_errors(self, scope: Scope, new: Object) -> FieldErrors:
        """What is looked at only when nothing else is wrong."""
        return []


class New(Target):
    """An object that is created. uid: "" for a new one."""

    writes_object = True

    def __init__(self, uid: str = "") -> None:
        self._uid = uid

    def prepare(self, scope: Scope, new: Object, old: Object | None, context: WriteContext) -> None:
        metadata = new["metadata"]
        objectmeta.fill_system_fields(metadata, scope.now, self._uid)
        if not scope.resource.namespaced:
            metadata.pop("namespace", None)
        scope.resource.hooks.prepare_create(new, context)

    def errors(
        self, scope: Scope, new: Object, old: Object | None, context: WriteContext
    ) -> FieldErrors:
        kind = scope.resource.hooks
        errors = kind.validate(new, context) + kind.validate_create(new, context)
        if not kind.metadata_create:
            return errors
        return objectmeta.validate(new, kind, namespaced=scope.resource.namespaced) + errors

    def last_errors(self, scope: Scope, new: Object) -> FieldErrors:
        kind = scope.resource.hooks
        return objectmeta.common_errors(new, kind, namespaced=scope.resource.namespaced)


class _Stored(Target):
    """Something of an object that is there."""

    def prepare(self, scope: Scope, new: Object, old: Object | None, context: WriteContext) -> None:
        assert old is not None, "only new objects have no stored state"
        objectmeta.keep_generation(new["metadata"], old["metadata"])
        self._prepare(scope.resource.hooks, new, old, context)
        objectmeta.inherit(new["metadata"], old["metadata"])

    def errors(
        self, scope: Scope, new: Object, old: Object | None, context: WriteContext
    ) -> FieldErrors:
        assert old is not None, "only new objects have no stored state"
        kind = scope.resource.hooks
        errors = objectmeta.validate_update(
            new, old, kind, namespaced=scope.resource.namespaced, whole=self.writes_object
        )
        return errors + self._errors(kind, new, old, context)

    def _prepare(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> None:
        raise NotImplementedError

    def _errors(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> FieldErrors:
        raise NotImplementedError


class Whole(_Stored):
    """The object at its own URL."""

    writes_object = True

    def _prepare(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> None:
        kind.prepare_update(new, copy_json(old) if kind.takes_of_old else old, context)

    def _errors(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> FieldErrors:
        return kind.validate(new, context) + kind.validate_update(new, old, context)


class Scale(Whole):
    """The object after `apiserver.registry.scaling` has put a Scale's replicas into it: from there
    on a write of the object itself, of which admission sees the Scale."""

    def admitted_form(self, scope: Scope, obj: Object) -> Object:
        return scope.resource.hooks.scale_for_update(obj)

    def taken(self, scope: Scope, obj: Object, admitted: Object) -> Object:
        replicas = (admitted.get("spec") or {}).get("replicas") or 0
        if replicas != (self.admitted_form(scope, obj).get("spec") or {}).get("replicas", 0):
            scope.resource.hooks.set_scale(obj, replicas)
        return obj


class Status(_Stored):
    """What the object reports, under ``/status``."""

    def _prepare(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> None:
        kind.prepare_status_update(new, copy_json(old), context)

    def _errors(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> FieldErrors:
        return kind.validate_status_update(new, old, context)


class Binding(_Stored):
    """A pod that is put on a node, under ``/binding``: the change has done just that."""

    def _prepare(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> None:
        pass

    def _errors(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> FieldErrors:
        return kind.validate(new, context)


class Part(_Stored):
    """The part of the object that a subresource of the kind's own is about (resize, approval,
    finalize ...)."""

    def __init__(self, subresource: str) -> None:
        self.subresource = subresource

    def _prepare(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> None:
        kind.prepare_subresource_update(self.subresource, new, copy_json(old), context)

    def _errors(self, kind: Kind, new: Object, old: Object, context: WriteContext) -> FieldErrors:
        return kind.validate_subresource_update(self.subresource, new, old, context)


NEW = New()
_TARGETS: dict[str, Target] = {
    "": Whole(),
    "scale": Scale(),
    "status": Status(),
    "binding": Binding(),
}


def target_of(subresource: str) -> Target:
    """``subresource``: "" for the object itself."""
    return _TARGETS.get(subresource) or Part(subresource)
