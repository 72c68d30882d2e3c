"""What the console leaves in the audit log: logins, such that were refused, tokens that were made
or revoked, and sessions that were ended."""

from __future__ import annotations

import json
import logging
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest

from apiserver.audit import counts
from apiserver.audit.trail import cut, micro_time, plain
from apiserver.flow.buckets import Buckets
from apiserver.request import TENANCY_GROUP
from controlplane.tenancy.models import ApiToken

log = logging.getLogger("polyplane.audit")

_WRITE = "SELECT pp_audit(%s, %s, %s, %s, %s::bigint[], %s, %s, %s, %s, %s)"
PASSWORDS = "/admin/login/"
_LONGEST = 500
_MOST = 200  # characters of what somebody typed
_UNSEEN_PER_SECOND, _UNSEEN_AT_ONCE = 1.0, 2500
"""Entries of tries that nobody looked at: anybody can make them by the thousand, and they tell
little."""
_unseen = Buckets()


def record_unseen(user: str, address: str, agent: str, uri: str = PASSWORDS) -> None:
    """A try that had to wait; a few of many."""
    if _unseen.take(0, "", _UNSEEN_PER_SECOND, _UNSEEN_AT_ONCE):
        record_login(user, address, agent, 401, "refused unseen: too many failures", uri)
    else:
        counts.lost("audit-table")


def record_login(
    user: str, address: str, agent: str, code: int, reason: str, uri: str = PASSWORDS
) -> None:
    """One try to log in, of no tenant: as whom, 200 or 401, and why. A log that cannot be written
    keeps nobody out."""
    now, name = time.time(), plain(cut(user, _MOST))
    event = {
        **_event(uri, "login", name, now),
        "sourceIPs": [plain(cut(address, _MOST))],
        "userAgent": plain(cut(agent, _MOST)),
        "responseStatus": {"metadata": {}, "code": code, "message": plain(cut(reason, _LONGEST))},
    }
    row = [None], [datetime.fromtimestamp(now, UTC)], [name], ["login"], [code]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_WRITE, [*row, [""], [""], [""], [""], [json.dumps(event)]])
    except DatabaseError as error:
        log.error("a login is not in the audit log: %s", error)


def record_token(request: HttpRequest, address: str, user: str, verb: str, token: ApiToken) -> None:
    """What somebody has done with a token: an entry of the token's tenant. Raises DatabaseError, so
    that nothing happens to tokens unseen."""
    about = {"tenancy.polyplane.dev/token-user": token.user}
    _record_deed(request, address, user, verb, token.tenant_id, "tokens", str(token.pk), about)


def record_session(request: HttpRequest, address: str, user: str, whose: str, name: str) -> None:
    """That somebody has ended a session of ``whose``: an entry of no tenant. Raises DatabaseError,
    so that none is ended unseen."""
    about = {"tenancy.polyplane.dev/session-user": whose}
    _record_deed(request, address, user, "delete", None, "sessions", name, about)


def _record_deed(
    request: HttpRequest,
    address: str,
    user: str,
    verb: str,
    tenant: int | None,
    resource: str,
    name: str,
    about: dict[str, str],
) -> None:
    """What somebody has done by the console with what is no object; about: annotations."""
    now, who = time.time(), plain(cut(user, _MOST))
    event = {
        **_event(request.path, verb, who, now),
        "sourceIPs": [plain(cut(address, _MOST))],
        "userAgent": plain(cut(request.headers.get("User-Agent", ""), _MOST)),
        "objectRef": {"apiGroup": TENANCY_GROUP, "resource": resource, "name": name},
        "responseStatus": {"metadata": {}, "code": 200},
        "annotations": {key: plain(cut(value, _MOST)) for key, value in about.items()},
    }
    row = [tenant], [datetime.fromtimestamp(now, UTC)], [who], [verb], [200]
    what = [TENANCY_GROUP], [resource], [""], [name]
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, [*row, *what, [json.dumps(event)]])


def _event(uri: str, verb: str, user: str, now: float) -> dict[str, Any]:
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": str(uuid.uuid4()),
        "stage": "ResponseComplete",
        "requestURI": uri,
        "verb": verb,
        "user": {"username": user},
        "requestReceivedTimestamp": micro_time(now),
        "stageTimestamp": micro_time(now),
    }
