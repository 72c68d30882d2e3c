"""URLs that Django itself serves: the console. The Kubernetes API is routed before Django (asgi.py)."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
