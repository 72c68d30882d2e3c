"""Recorder: what becomes of the requests of this process, by the policy.

Three places take what is kept. Writes leave their entry in the transaction that commits them
(`Recorder.entry`). Everything else goes to the same table a moment later, and all of it, if the
operator has named them, to a file and a webhook, which get each stage; there a queue may be full,
and what it loses is counted.

Beside the policy: failed authentication (401), refusals (403) and what shows values of Secrets to
somebody at the console go to the table with their metadata whatever level the policy says, because
those who ask "who tried" and "who has seen it" ask too late to change it.

Of reads and refusals a rule may let a sample do (``samplePercent``). Of what has changed something
there is nothing to sample: its entry was committed with it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apiserver.audit import counts
from apiserver.audit.policy import (
    COMPLETE,
    DEFAULT,
    PANIC,
    RECEIVED,
    STARTED,
    Level,
    Policy,
    Verdict,
    is_sensitive,
)
from apiserver.audit.trail import Trail, cut, plain
from apiserver.authz.attributes import Attributes
from apiserver.errors import ApiError
from apiserver.request import RequestInfo
from apiserver.storage.auditlog import Row
from apiserver.storage.interface import Entry
from apiserver.user import User

UNHEARD = 499
"""The status in the entry of a request whose client left before the answer (as nginx has it)."""
_REFUSED = frozenset({401, 403})
_MOST_NAME = 512
"""Characters of a text in the table's columns. Longer ones are cut: they are no names."""
_READING = frozenset({"get", "list", "watch", "head", "options"})


class Table(Protocol):
    """Takes rows, and writes them soon. Must not wait."""

    def put(self, row: Row) -> None: ...


class Sink(Protocol):
    """Takes events, one JSON document each. put must not wait; close may, for seconds."""

    def put(self, event: bytes) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Recorder:
    """reads: the share of reads, from 0 to 1, that reaches the table of those that the policy wants
    kept and that its rule says no share of; table: None where nobody writes it (commands)."""

    policy: Policy = DEFAULT
    sinks: Sequence[Sink] = ()
    table: Table | None = None
    reads: float = 1.0

    def verdict(self, asked: Attributes) -> Verdict:
        """The policy's, less the bodies that are secret by their nature."""
        verdict = self.policy.verdict(asked)
        if verdict.level > Level.METADATA and is_sensitive(
            asked.group, asked.resource, asked.subresource
        ):
            return verdict._replace(level=Level.METADATA)
        return verdict

    def begin(self, trail: Trail) -> None:
        """A request that the policy wants kept has been authenticated."""
        self._emit(trail, RECEIVED)

    def started(self, trail: Trail) -> None:
        """A long answer begins."""
        trail.begun = True
        self._emit(trail, STARTED, 200)

    def finish(
        self,
        trail: Trail,
        tenant: int | None,
        code: int,
        error: ApiError | None = None,
        *,
        panicked: bool = False,
    ) -> None:
        """The request has been answered. A write is in the table already; a request that failed
        after some of its writes has an entry more."""
        if error is not None and is_sensitive(
            trail.info.group, trail.info.resource, trail.info.subresource
        ):
            error = _silent(error)
        stage = PANIC if panicked else STARTED if code == 401 else COMPLETE
        if trail.info.lasts and not trail.begun and stage == COMPLETE:
            self._emit(trail, STARTED, code, error)
        kept = trail.verdict.level is not Level.NONE and stage not in trail.verdict.quiet
        told = trail.made and not _fails(code)
        to_table = self.table is not None and not told and self._to_table(trail, code, kept)
        if not to_table and not (kept and self.sinks):
            return
        if not kept:
            trail.verdict = trail.verdict._replace(level=Level.METADATA)
        event = trail.event(stage, code, error)
        counts.count_event()
        if to_table and self.table is not None:
            self.table.put(_row(trail, tenant, code, event))
        if kept:
            for sink in self.sinks:
                sink.put(event)

    def wants(self, trail: Trail | None, code: int) -> bool:
        """Whether `finish` has anything to do for a request that the policy wants nothing of."""
        return trail is not None or code in _REFUSED

    def _to_table(self, trail: Trail, code: int, kept: bool) -> bool:
        refused = code in _REFUSED
        if trail.stays or (refused and trail.made):
            return True
        if not (refused or kept):
            return False
        if not refused and trail.info.verb not in _READING:
            return True
        share = 1.0 if refused else self.reads
        if trail.verdict.sample is not None:
            share = trail.verdict.sample / 100
        return random.random() < share  # noqa: S311  a sample, not a secret

    def _emit(self, trail: Trail, stage: str, code: int = 0, error: ApiError | None = None) -> None:
        if not self.sinks or trail.verdict.level is Level.NONE or stage in trail.verdict.quiet:
            return
        event = trail.event(stage, code, error)
        counts.count_event()
        for sink in self.sinks:
            sink.put(event)


def trail_of_server(
    recorder: Recorder, user: User, tenant: str, info: RequestInfo, audit_id: str, agent: str
) -> Trail:
    """The trail of a write that the server makes by itself, without a request."""
    asked = Attributes(
        user,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name,
    )
    return Trail(recorder.verdict(asked), tenant, info, user, audit_id=audit_id, agent=agent)


def _fails(code: int) -> bool:
    """Whether the request failed, at once or in the middle; that a client left says nothing about
    what it asked for."""
    return code >= 400 and code != UNHEARD


def _silent(error: ApiError) -> ApiError:
    """Messages may quote what was sent."""
    return ApiError("", code=error.code, reason=error.reason)


def _row(trail: Trail, tenant: int | None, code: int, event: bytes) -> Row:
    info = trail.info
    user = "" if trail.user is None else trail.user.name
    group, resource, namespace, name = (
        plain(cut(text, _MOST_NAME))
        for text in (info.group, info.resource, info.namespace, info.name)
    )
    entry = Entry(plain(cut(user, _MOST_NAME)), plain(cut(info.verb, _MOST_NAME)), code, event)
    return Row(tenant, trail.received, entry, group, resource, namespace, name)
