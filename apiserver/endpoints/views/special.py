"""Resources and subresources whose verbs are not plain storage, and the views that serve them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http.response import HttpResponseBase

from apiserver.endpoints.views import (
    admission,
    history,
    pods,
    relations,
    reviews,
    search,
    tokens,
)
from apiserver.endpoints.views.componentstatuses import ComponentStatusView
from apiserver.endpoints.views.resource import ResourceView
from apiserver.endpoints.views.scale import ScaleView
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Scope
from apiserver.request import (
    ADMISSION_USE_REVIEWS,
    DEPENDENT_REVIEWS,
    EXPRESSION_REVIEWS,
    GRANT_REVIEWS,
    OBJECT_COUNTS,
    OBJECT_SEARCHES,
    RETAINED_LOGS,
)

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

_REVISIONS = tuple(
    GroupResource("history.polyplane.dev", name) for name in ("revisions", "clusterrevisions")
)

_CLASSES: dict[tuple[GroupResource, str], type[ResourceView]] = {
    (GroupResource("", "componentstatuses"), ""): ComponentStatusView,
    (_PODS, "binding"): pods.BindingView,
    (GroupResource("", "bindings"), ""): pods.BindingView,
    (_PODS, "eviction"): pods.EvictionView,
    (_PODS, "log"): pods.LogView,
    (GroupResource("", "serviceaccounts"), "token"): tokens.TokenView,
    **{(_PODS, name): pods.ConnectView for name in ("exec", "attach", "portforward")},
    **{(resource, "proxy"): pods.ProxyView for resource in (_PODS, _SERVICES, _NODES)},
    (GroupResource("authorization.polyplane.dev", "accessexplanations"), ""): reviews.ReviewView,
    (GRANT_REVIEWS, ""): reviews.ReviewView,
    (EXPRESSION_REVIEWS, ""): admission.ExpressionReviewView,
    (ADMISSION_USE_REVIEWS, ""): admission.AdmissionUseReviewView,
    (DEPENDENT_REVIEWS, ""): relations.DependentReviewView,
    (OBJECT_COUNTS, ""): search.ObjectCountView,
    (OBJECT_SEARCHES, ""): search.ObjectSearchView,
    **{
        (GroupResource("authorization.k8s.io", name), ""): reviews.ReviewView
        for name in _AUTHORIZATION
    },
    **{
        (GroupResource("authentication.k8s.io", name), ""): reviews.ReviewView
        for name in _AUTHENTICATION
    },
    **{(resource, ""): history.RevisionView for resource in _REVISIONS},
    (RETAINED_LOGS, ""): history.RetainedLogView,
    **{(resource, "diff"): history.DiffView for resource in _REVISIONS},
    **{(resource, "blame"): history.BlameView for resource in _REVISIONS},
    **{
        (resource, name): history.RestoreView
        for resource in _REVISIONS
        for name in ("rollback", "undelete")
    },
}


_VIEWS: dict[tuple[GroupResource, str], View] = {
    served: view.as_view() for served, view in _CLASSES.items()
}
_PLAIN: View = ResourceView.as_view()
_SCALE: View = ScaleView.as_view()
_TENANT_REVIEW: View = reviews.SelfTenantReviewView.as_view()


def view_of(scope: Scope) -> View:
    if scope.subresource == "scale":
        return _SCALE
    if scope.resource.answers:
        return _TENANT_REVIEW
    return _VIEWS.get((scope.resource.group_resource, scope.subresource), _PLAIN)
