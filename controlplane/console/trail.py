"""What the console leaves in the audit log: logins, such that were refused, and tokens that were
made or revoked."""

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
    now, name = time.time(), plain(cut(user, _MOST))
    key = {"apiGroup": TENANCY_GROUP, "resource": "tokens", "name": str(token.pk)}
    event = {
        **_event(request.path, verb, name, now),
        "sourceIPs": [plain(cut(address, _MOST))],
        "userAgent": plain(cut(request.headers.get("User-Agent", ""), _MOST)),
        "objectRef": key,
        "responseStatus": {"metadata": {}, "code": 200},
        "annotations": {"tenancy.polyplane.dev/token-user": plain(cut(token.user, _MOST))},
    }
    row = [token.tenant_id], [datetime.fromtimestamp(now, UTC)], [name], [verb], [200]
    what = [TENANCY_GROUP], ["tokens"], [""], [str(token.pk)]
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
