"""Role: rules in one namespace."""

from __future__ import annotations

from apiserver.kinds.rbac.base import RoleKind
from apiserver.kinds.rbac.rules import GROUP
from apiserver.kinds.registration import register


@register(GROUP, "Role")
class Role(RoleKind):
    of_namespace = True
