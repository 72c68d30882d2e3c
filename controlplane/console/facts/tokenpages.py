"""Tokens: listed, made (the secret is shown once), revoked, and a kubeconfig with a new one. Each
change and its audit entry are written in one transaction."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from apiserver.meta.times import format_optional_time
from controlplane import certificates
from controlplane.console.facts.asking import Answer, Refused, asked, body_of, text_of, texts_of
from controlplane.console.facts.tokenrights import (
    Person,
    may_revoke,
    may_see,
    person,
    why_not_make,
)
from controlplane.console.login import peer
from controlplane.console.trail import record_token
from controlplane.kubeconfig import kubeconfig
from controlplane.tenancy import tokens
from controlplane.tenancy.models import ApiToken, Tenant

MOST_DAYS = 366
_MOST = 1000  # rows


@asked("GET", "POST")
def listed(account: User, request: HttpRequest) -> Answer:
    """GET: those that may be seen, newest first, ``tenant``: good in it only, ``mine``, ``user``:
    whose name contains it, ``valid``: neither revoked nor expired; more: there are others. POST: a
    new one; with ``kubeconfig`` the answer has one, too."""
    who = person(account)
    if request.method == "POST":
        return _made(who, request)
    rows = ApiToken.objects.select_related("tenant").order_by("-pk")
    if name := request.GET.get("tenant"):
        rows = rows.filter(tenant__name=name)
    if part := request.GET.get("user"):
        rows = rows.filter(user__icontains=part)
    if "valid" in request.GET:
        rows = rows.filter(revoked_at=None).exclude(expires_at__lte=timezone.now())
    if "mine" in request.GET:
        rows = rows.filter(user=who.name, uid=who.uid)
    elif not who.superuser and not who.viewer and not who.tenant_admin:
        rows = rows.filter(Q(user=who.name, uid=who.uid) | Q(tenant__owners__overlap=_owners(who)))
    found = list(rows[: _MOST + 1])
    seen = [token for token in found[:_MOST] if may_see(who, token)]
    return {"items": [described(token, who) for token in seen], "more": len(found) > _MOST}


@asked("DELETE")
def one(account: User, request: HttpRequest, number: int) -> Answer:
    """Revokes it. Of a token that he may not see nobody is told that there is one."""
    who = person(account)
    token = ApiToken.objects.select_related("tenant").filter(pk=number).first()
    if token is None or not may_see(who, token):
        raise Refused(404, f"there is no token {number}")
    if not may_revoke(who, token):
        raise Refused(403, f"token {number} of {token.user} is not yours to revoke")
    with transaction.atomic():
        token = tokens.revoke_token(number)
        record_token(request, peer(request), who.name, "revoke", token)
    return described(token, who)


def described(token: ApiToken, who: Person) -> Answer:
    """All but the secret."""
    now = timezone.now()
    ended = token.expires_at is not None and token.expires_at <= now
    return {
        "id": token.pk,
        "user": token.user,
        "groups": token.groups,
        "tenant": token.tenant.name if token.tenant else "",
        "description": token.description,
        "state": "revoked" if token.revoked_at else "expired" if ended else "valid",
        "created": format_optional_time(token.created_at),
        "expires": format_optional_time(token.expires_at),
        "lastUsed": format_optional_time(token.last_used),
        "revocable": token.revoked_at is None and may_revoke(who, token),
    }


def _made(who: Person, request: HttpRequest) -> Answer:
    body = body_of(request)
    user = text_of(body, "user") or who.name
    own = user == who.name and not body.get("other")
    uid = who.uid if own else ""
    groups = texts_of(body, "groups") if "groups" in body else sorted(who.groups) if own else []
    tenant = _tenant(body)
    if why := why_not_make(who, user, uid, groups, tenant):
        raise Refused(403, why)
    with transaction.atomic():
        new = tokens.create_token(
            user,
            uid=uid,
            groups=groups,
            tenant=tenant,
            lifetime=_lifetime(body, who),
            description=text_of(body, "description", 200),
        )
        record_token(request, peer(request), who.name, "create", new.token)
    answer = {**described(new.token, who), "token": new.secret}
    if body.get("kubeconfig") and tenant is not None:
        ca = certificates.ca_bundle().encode()
        base = f"https://{request.get_host()}"
        answer["kubeconfig"] = kubeconfig(base, ca, [tenant.name], user, new.secret)
    return answer


def _tenant(body: Answer) -> Tenant | None:
    """None: all tenants, which has to be said. Raises Refused."""
    if body.get("allTenants") is True:
        return None
    name = text_of(body, "tenant", 63)
    tenant = Tenant.objects.filter(name=name).first()
    if tenant is None:
        raise Refused(404, f"there is no tenant {name!r}")
    return tenant


def _lifetime(body: Answer, who: Person) -> timedelta | None:
    """Raises Refused."""
    days = body.get("days", tokens.DEFAULT_LIFETIME.days)
    if days is None and who.superuser:
        return None
    if type(days) is not int or not 1 <= days <= MOST_DAYS:
        raise Refused(400, f"days has to be a number from 1 to {MOST_DAYS}")
    return timedelta(days=days)


def _owners(who: Person) -> list[str]:
    return [f"User:{who.name}", *(f"Group:{group}" for group in sorted(who.groups))]
