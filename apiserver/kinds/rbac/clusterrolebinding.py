"""ClusterRoleBinding: gives a ClusterRole to subjects everywhere."""

from __future__ import annotations

from apiserver.kinds.rbac.base import BindingKind
from apiserver.kinds.rbac.rules import GROUP
from apiserver.kinds.registration import register


@register(GROUP, "ClusterRoleBinding")
class ClusterRoleBinding(BindingKind):
    of_namespace = False
