"""What every page of the console shares for now: looking, not touching. Writes go through the
API."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse, TemplateResponse
from unfold.admin import ModelAdmin

from apiserver.platformroles import VIEWERS
from apiserver.storage.visibility import django_everywhere
from controlplane.accounts import holds
from controlplane.console.paginator import BoundedPaginator
from controlplane.tenancy.models import Tenant


def across_tenants(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page that shows rows of all tenants. It is rendered here, because templates read what is
    left of QuerySets."""

    @wraps(view)
    def seeing(*args: Any, **kwargs: Any) -> HttpResponse:
        with django_everywhere():
            response = view(*args, **kwargs)
            return response.render() if isinstance(response, SimpleTemplateResponse) else response

    return seeing


class AllowedLookups:
    """A list can be narrowed by what it offers and nothing else. Django allows any column in a URL,
    and a column that is not shown can be guessed letter by letter:
    ``?data__data__password__startswith=``."""

    lookups: ClassVar[frozenset[str]] = frozenset()
    """Parameters of URLs: those of the list's filters."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup in self.lookups


def _remember_list(request: HttpRequest) -> None:
    """Where the way back to the list leads: its filters, which templates/unfold/helpers/
    header_title.html puts behind its address."""
    request.list_filters = request.GET.get("_changelist_filters", "")  # type: ignore[attr-defined]


class ReadOnlyAdmin(AllowedLookups, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    list_filter_submit = True
    list_per_page = 50
    paginator = BoundedPaginator
    show_full_result_count = False
    compressed_fields = True

    @across_tenants
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    @across_tenants
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        _remember_list(request)
        response: HttpResponse = super().changeform_view(
            request, object_id, form_url, extra_context
        )
        return response

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return BoundedList

    def has_module_permission(self, request: HttpRequest) -> bool:
        return holds(request.user, VIEWERS)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return holds(request.user, VIEWERS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class BoundedList(ChangeList):
    """With a `BoundedPaginator`. Its heading tells no number that is none: unfold's template
    (helpers/welcomemsg.html) shows one where the two differ."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._queries: dict[str, str] = {}
        super().__init__(*args, **kwargs)

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Made once: unfold asks for those of all headings in each row."""
        asked = repr((new_params, remove))
        if asked not in self._queries:
            self._queries[asked] = super().get_query_string(new_params, remove)
        return self._queries[asked]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.names_looked_at = getattr(request, "names_looked_at", 0)
        if self.page_num == 1 and not self.show_all:
            self.result_list = self.paginator.first_page
        if self.paginator.is_cut:
            self.full_result_count = self.result_count


class RowList(BoundedList):
    """Rows with the names of their tenants, linked as ``row_url`` of their admin says."""

    model_admin: RowPage

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        with_tenant_names(self.result_list)

    def url_for_result(self, result: models.Model) -> str:
        return self.model_admin.row_url(result)


class RowPage(ReadOnlyAdmin):
    """Tables whose primary key says too little to find a row by: rows are addressed by the table's
    real key, which ``get_object`` reads from the URL. A row has a page of our own, a template that
    is given ``row``, ``tenant`` (its name) and what ``page`` returns; where ``get_object`` finds
    none there is no page."""

    page_template: ClassVar[str]
    what: ClassVar[str]
    """What a 404 says is not there."""

    def row_url(self, row: Any) -> str:
        raise NotImplementedError

    def page(self, row: Any) -> dict[str, Any]:
        raise NotImplementedError

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return RowList

    @admin.display(description="tenant")
    def tenant(self, row: Any) -> str:
        return str(row.tenant_name)

    @across_tenants
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        _remember_list(request)
        row = self.get_object(request, unquote(object_id or ""))
        if row is None or not self.has_view_permission(request, row):
            raise Http404(f"no such {self.what}")
        with_tenant_names([row])
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": str(row),
            "row": row,
            "tenant": row.tenant_name,
            **self.page(row),
        }
        return TemplateResponse(request, self.page_template, context)


def with_tenant_names(result_list: Any) -> None:
    """Puts ``tenant_name`` on each row of a page, "-" where it belongs to none; one query."""
    numbers = {row.tenant_id for row in result_list}
    names = dict(Tenant.objects.filter(pk__in=numbers - {None}).values_list("pk", "name"))
    for row in result_list:
        number = row.tenant_id
        row.tenant_name = "-" if number is None else names.get(number, f"#{number}")
