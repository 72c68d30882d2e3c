"""Views of lists that somebody has saved: a query under a title, his own in each tenant.

A view holds nothing of the tenant, and grants nothing: whoever opens it asks as anybody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.console.facts.asking import Answer, Refused, asked, body_of, text_of
from controlplane.console.models import SavedView

_MOST = 50
"""Views of one kind in one tenant."""
_MOST_OF_ALL = 1000
"""Views of one account."""
_LONGEST_TITLE = 100
_LONGEST_QUERY = 4000


@asked("GET", "PUT", "DELETE")
def views(account: User, request: HttpRequest, tenant: str, kind: str) -> Answer:
    """Those of a kind (``pods``, ``deployments.apps``) after the change, as {title: query}. PUT
    takes {"title", "query"}, or {"title", "was"} where one gets another title, DELETE {"title"}."""
    if max(len(tenant), len(kind)) > SavedView.LONGEST_NAME or "\0" in tenant + kind:
        raise Refused(400, "a tenant or a kind has no such name")
    own = SavedView.objects.filter(account=account, tenant=tenant, kind=kind)
    if request.method != "GET":
        body = body_of(request)
        title = text_of(body, "title", _LONGEST_TITLE)
        if not title:
            raise Refused(400, "a view has a title")
        if request.method == "DELETE":
            own.filter(title=title).delete()
        elif was := text_of(body, "was", _LONGEST_TITLE):
            with _alone(account):
                _rename(own, was, title)
        else:
            query = text_of(body, "query", _LONGEST_QUERY)
            if query and not query.startswith("?"):
                raise Refused(400, "query has to begin with a question mark")
            with _alone(account):
                _save(account, own, SavedView(tenant=tenant, kind=kind, title=title, query=query))
    return {"views": {view.title: view.query for view in own.order_by("title")}}


@contextmanager
def _alone(account: User) -> Iterator[None]:
    """One change after the other for each account, so that no two exceed the bounds, or have the
    same title."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=account.pk)
        yield


def _save(account: User, own: QuerySet[SavedView], view: SavedView) -> None:
    """Raises Refused."""
    if own.filter(title=view.title).update(query=view.query):
        return
    if own.count() >= _MOST or SavedView.objects.filter(account=account).count() >= _MOST_OF_ALL:
        raise Refused(403, f"there are {_MOST} saved views of a kind, or {_MOST_OF_ALL} in all")
    view.account = account
    view.save(force_insert=True)


def _rename(own: QuerySet[SavedView], was: str, title: str) -> None:
    """Raises Refused."""
    if title != was and own.filter(title=title).exists():
        raise Refused(409, f"there is a view “{title}” already")
    if not own.filter(title=was).update(title=title):
        raise Refused(404, f"there is no view “{was}”")
