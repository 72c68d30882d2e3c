"""The addresses below /admin/console/facts/."""

from __future__ import annotations

from django.urls import path

from controlplane.console.facts import (
    auditpages,
    endingpages,
    ownpages,
    placepages,
    sessionpages,
    stuckpages,
    systempages,
    tenantpages,
    tokenpages,
    viewpages,
)

pages = [
    path("me", ownpages.me),
    path("sessions", sessionpages.listed),
    path("sessions/<str:name>", sessionpages.one),
    path("accounts/<int:number>/sessions", sessionpages.of_account),
    path("views/<str:tenant>/<str:kind>", viewpages.views),
    path("tokens", tokenpages.listed),
    path("tokens/<int:number>", tokenpages.one),
    path("tenants", tenantpages.listed),
    path("tenants/<str:name>", tenantpages.one),
    path("tenants/<str:name>/use", tenantpages.use),
    path("tenants/<str:name>/namespaces", placepages.bound),
    path("audit", auditpages.found),
    path("system", systempages.system),
    path("overview", systempages.overview),
    path("ending", endingpages.ending),
    path("stuck", stuckpages.stuck),
]
