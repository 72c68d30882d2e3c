"""URLs that Django itself serves: the console. The Kubernetes API is routed before Django
(asgi.py)."""

from django.contrib import admin
from django.urls import include, path
from django.views.decorators.cache import cache_control
from django.views.generic import RedirectView
from django.views.i18n import JavaScriptCatalog

from controlplane.console import oidclogin, oidclogout, shell
from controlplane.console.facts import addresses

_words = JavaScriptCatalog.as_view(packages=["django.contrib.admin"])
admin.autodiscover()  # here and not at start-up: only a process that serves needs the pages
urlpatterns = [
    path("admin/oidc/", include(oidclogin.pages)),
    path("admin/console/facts/", include(addresses.pages)),
    path("admin/console/", include(shell.pages)),
    path("admin/", include(oidclogout.pages)),
    # what the admin site has there too, but asks for a session, and each page for it anew
    path("admin/jsi18n/", cache_control(max_age=3600)(_words)),
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url="/static/console/favicon.svg")),
    # of the root, only what browsers ask for gets here (apiserver.endpoints.entry)
    path("", RedirectView.as_view(url="/admin/console/")),
]
