"""RoleBinding: gives a role to subjects in one namespace."""

from __future__ import annotations

from apiserver.kinds.rbac.base import BindingKind
from apiserver.kinds.rbac.rules import GROUP
from apiserver.kinds.registration import register


@register(GROUP, "RoleBinding")
class RoleBinding(BindingKind):
    of_namespace = True
