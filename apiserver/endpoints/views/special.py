"""Resources and subresources whose verbs are not plain storage, and the views that serve them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http.response import HttpResponseBase

from apiserver.endpoints.views import pods, reviews, tokens
from apiserver.endpoints.views.componentstatuses import ComponentStatusView
from apiserver.endpoints.views.resource import ResourceView
from apiserver.endpoints.views.scale import ScaleView
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Scope

View = Callable[..., Awaitable[HttpResponseBase | None]]
"""Of `ResourceView.as_view`."""

_PODS, _SERVICES, _NODES = (GroupResource("", name) for name in ("pods", "services", "nodes"))
_AUTHORIZATION = (
    "subjectaccessreviews",
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
)
_AUTHENTICATION = ("selfsubjectreviews", "tokenreviews")

_CLASSES: dict[tuple[GroupResource, str], type[ResourceView]] = {
    (GroupResource("", "componentstatuses"), ""): ComponentStatusView,
    (_PODS, "binding"): pods.BindingView,
    (GroupResource("", "bindings"), ""): pods.BindingView,
    (_PODS, "eviction"): pods.EvictionView,
    (_PODS, "log"): pods.LogView,
    (GroupResource("", "serviceaccounts"), "token"): tokens.TokenView,
    **{(_PODS, name): pods.ConnectView for name in ("exec", "attach", "portforward", "proxy")},
    (_SERVICES, "proxy"): pods.ConnectView,
    (_NODES, "proxy"): pods.ConnectView,
    **{
        (GroupResource("authorization.k8s.io", name), ""): reviews.ReviewView
        for name in _AUTHORIZATION
    },
    **{
        (GroupResource("authentication.k8s.io", name), ""): reviews.ReviewView
        for name in _AUTHENTICATION
    },
}


_VIEWS: dict[tuple[GroupResource, str], View] = {
    served: view.as_view() for served, view in _CLASSES.items()
}
_PLAIN: View = ResourceView.as_view()
_SCALE: View = ScaleView.as_view()


def view_of(scope: Scope) -> View:
    if scope.subresource == "scale":
        return _SCALE
    return _VIEWS.get((scope.resource.group_resource, scope.subresource), _PLAIN)
