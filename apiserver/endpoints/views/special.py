"""Resources and subresources whose verbs are not plain storage, and the views that serve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Scope

if TYPE_CHECKING:
    from apiserver.endpoints.views.resource import ResourceView

_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"


def _views() -> dict[tuple[GroupResource, str], Callable[..., ResourceView]]:
    from apiserver.endpoints.views import pods, reviews

    core = {name: GroupResource("", name) for name in ("pods", "bindings", "services", "nodes")}

    return {
        (core["pods"], "binding"): pods.BindingView,
        (core["bindings"], ""): pods.BindingView,
        (core["pods"], "eviction"): pods.EvictionView,
        (core["pods"], "log"): pods.LogView,
        **{(core["pods"], name): pods.ConnectView for name in ("exec", "attach", "portforward", "proxy")},
        (core["services"], "proxy"): pods.ConnectView,
        (core["nodes"], "proxy"): pods.ConnectView,
        (GroupResource(_AUTHORIZATION, "subjectaccessreviews"), ""): reviews.ReviewView,
        (GroupResource(_AUTHORIZATION, "localsubjectaccessreviews"), ""): reviews.ReviewView,
        (GroupResource(_AUTHORIZATION, "selfsubjectaccessreviews"), ""): reviews.ReviewView,
        (GroupResource(_AUTHORIZATION, "selfsubjectrulesreviews"), ""): reviews.ReviewView,
        (GroupResource(_AUTHENTICATION, "selfsubjectreviews"), ""): reviews.ReviewView,
        (GroupResource(_AUTHENTICATION, "tokenreviews"), ""): reviews.ReviewView,
    }


_found: dict[tuple[GroupResource, str], Callable[..., ResourceView]] = {}


def view_of(scope: Scope) -> Callable[..., ResourceView] | None:
    """None: the plain ResourceView serves it."""
    if not _found:
        _found.update(_views())
    if scope.subresource == "scale":
        from apiserver.endpoints.views.scale import ScaleView

        return ScaleView
    return _found.get((scope.resource.group_resource, scope.subresource))
