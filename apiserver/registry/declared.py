"""The declared rules of a kind in the way of a write: one place where what they find joins what hooks and metadata rules found."""

from __future__ import annotations

from admission.attributes import Object
from apiserver.fielderrors import FieldErrors
from apiserver.kinds.declarative.run import Subject, validate
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope


def with_declared(registry: Registry, scope: Scope, obj: Object, old: Object | None, written: FieldErrors) -> FieldErrors:
    """The errors of a write; ``written``: those of hand-written rules; ``old``: None on create."""
    resource = scope.resource
    if resource.hooks.declared is None:
        return written
    subject = Subject(resource.kind, scope.version, scope.schema, obj, old, scope.subresource)
    return validate(resource.hooks.declared, subject, written, registry.gates)
