"""What the console leaves in the audit log: logins, and such that were refused."""

from __future__ import annotations

import json
import logging
import time
import uuid
from datetime import UTC, datetime

from django.db import DatabaseError, connection, transaction

from apiserver.audit import counts
from apiserver.audit.trail import cut, micro_time, plain
from apiserver.flow.buckets import Buckets

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
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": str(uuid.uuid4()),
        "stage": "ResponseComplete",
        "requestURI": uri,
        "verb": "login",
        "user": {"username": name},
        "sourceIPs": [plain(cut(address, _MOST))],
        "userAgent": plain(cut(agent, _MOST)),
        "responseStatus": {"metadata": {}, "code": code, "message": plain(cut(reason, _LONGEST))},
        "requestReceivedTimestamp": micro_time(now),
        "stageTimestamp": micro_time(now),
    }
    row = [None], [datetime.fromtimestamp(now, UTC)], [name], ["login"], [code]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_WRITE, [*row, [""], [""], [""], [""], [json.dumps(event)]])
    except DatabaseError as error:
        log.error("a login is not in the audit log: %s", error)
