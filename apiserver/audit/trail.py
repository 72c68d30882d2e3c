"""Trail: what is known of one request, and the audit.k8s.io/v1 Events that are made of it.

Source: k8s.io/apiserver ``audit/request.go`` and ``apis/audit/types.go``. A write's entry is made
before it is committed, in the same shape, and says how the request will have ended: it is there
when the write is, and only then.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import orjson

from apiserver.audit import latencies
from apiserver.audit.policy import COMPLETE, NAMES, Level, Verdict
from apiserver.errors import ApiError
from apiserver.meta.objects import Object
from apiserver.request import TENANT_KEY, RequestInfo
from apiserver.storage.interface import Entry, ObjectKey
from apiserver.user import User

MANAGER = "audit.polyplane.dev/field-manager"
ON_BEHALF = "audit.polyplane.dev/on-behalf-of"
DISCLOSED = "audit.polyplane.dev/secret-values"
"""Annotation: values of Secrets were shown to somebody at the console."""
DECISION, REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
RULE, AUTHORIZER = "authorization.polyplane.dev/rule", "authorization.polyplane.dev/authorizer"
VERB = "authorization.polyplane.dev/verb"
"""Annotation: what the decision is about, where that is not the request's own verb: a PUT that
makes an object is asked about twice."""
GROUPS_CUT = "audit.polyplane.dev/groups"
"""Annotation: how many groups the user had, where the entry does not tell all."""
TRUNCATED = "audit.k8s.io/truncated"
_OWN = frozenset({MANAGER, ON_BEHALF})
"""Annotations that are not there where they say nothing; upstream's are."""

MOST_BYTES = 100 * 1024
"""Of an event; larger ones lose their bodies (kube-apiserver's
--audit-log-truncate-max-event-size)."""
_MOST_AGENT = 1024  # characters, as upstream
_MOST_NAME = 1024  # characters of a name in details
_MOST_TEXT = 4096  # characters of a URI, of a message, and of an annotation
_MOST_ANNOTATIONS = 64
_MOST_GROUPS = 200
CUT = "...TRUNCATED"
_TOO_MUCH = b" " * (MOST_BYTES + 1)
"""In the place of a body that nobody will look at."""
_BREAKS = b"\t\r\n"

Body = Callable[[], bytes | None]


def _nothing() -> bytes | None:
    return None


class Trail:
    """verdict: what the policy wants of it; tenant: its name; user: None where nobody could be
    told; acting: whom it acts as (impersonation), constraint: the verb that lets it, where that is
    one of constrained impersonation; annotations: of authorization and admission, open until the
    last event; delays: what took how many seconds (`apiserver.audit.latencies`); named: what the
    object that was sent says it is; sent, answered: the bodies as JSON, where the level wants them;
    begun: whether an event has told that a long answer begins; made: how
    many object versions it has made so far, each with an entry; about: which object the last one is
    of; told: the Status that answers it where it succeeds and the answer is none of its objects;
    stays: whether it reaches the table whatever the policy says, and the share of reads."""

    __slots__ = (
        "about",
        "acting",
        "addresses",
        "agent",
        "annotations",
        "answered",
        "audit_id",
        "begun",
        "constraint",
        "delays",
        "info",
        "made",
        "named",
        "received",
        "sent",
        "stays",
        "tenant",
        "told",
        "uri",
        "user",
        "verdict",
    )

    def __init__(
        self,
        verdict: Verdict,
        tenant: str,
        info: RequestInfo,
        user: User | None,
        *,
        audit_id: str,
        uri: str = "",
        agent: str = "",
        addresses: tuple[str, ...] = (),
        received: float = 0.0,
    ) -> None:
        self.verdict, self.tenant, self.info, self.user = verdict, tenant, info, user
        self.audit_id, self.uri, self.agent = audit_id, uri, agent
        self.addresses = addresses
        self.received = received or time.time()
        self.acting: User | None = None
        self.constraint = ""
        self.annotations: dict[str, str] = {}
        self.delays: dict[str, float] = {}
        self.named: dict[str, str] = {}
        self.begun = False
        self.sent: Body = _nothing
        self.answered: bytes | None = None
        self.made = 0
        self.about: dict[str, str] = {}
        self.told: Object | None = None
        self.stays = False

    @property
    def keeps_request(self) -> bool:
        return self.verdict.level >= Level.REQUEST

    @property
    def keeps_response(self) -> bool:
        return self.verdict.level >= Level.REQUEST_RESPONSE

    def annotate(self, key: str, value: str) -> None:
        """The first value of a key stays."""
        self.annotations.setdefault(key, value)

    def decodes(self) -> None:
        """The body is about to be read as an object: what is none is not told."""
        self.sent = _nothing

    def decoded(self, obj: Object, size: int) -> None:
        """``obj``: what was sent, with its defaults, from ``size`` bytes (``LogRequestObject``)."""
        metadata = obj.get("metadata") or {}
        named = {n: metadata.get(n) for n in ("namespace", "name", "uid", "resourceVersion")}
        self.named = {n: text for n, text in named.items() if text and isinstance(text, str)}
        if self.keeps_request:
            body = self.body(obj) if size <= MOST_BYTES else _TOO_MUCH
            self.sent = lambda: body

    def must_stay(self) -> None:
        """Values of Secrets go to somebody at the console."""
        self.stays = True
        self.annotate(DISCLOSED, "shown")

    def committed(self, name: str, uid: str, version: int) -> None:
        """An object version is there, and so is its entry."""
        self.made += 1
        self.about = {"name": name, "uid": uid, "resourceVersion": str(version)}

    def body(self, obj: Object) -> bytes:
        """An object as the event has it."""
        return _json(_without_managers(obj) if self.verdict.omit_managed else obj) or _TOO_MUCH

    def answer(self, data: bytes) -> bytes | None:
        """A JSON answer as the event has it; None for what is too much."""
        if len(data) > MOST_BYTES:
            body = None
        elif self.verdict.omit_managed:
            body = _stripped(data)
        else:
            body = one_line(data)
        if body is None:
            self.annotate(TRUNCATED, "true")
        return body

    def entry(
        self,
        key: ObjectKey,
        uid: str,
        code: int,
        annotations: Mapping[str, str],
        obj: Object,
        size: int = 0,
    ) -> Entry:
        """Of a write that is about to be committed. annotations: beside the request's own; obj: as
        it will be, ``size`` bytes as it is stored (large ones are not kept)."""
        reference = self.reference(name=key.name, namespace=key.namespace, uid=uid)
        own = reference is not None and self.info.resource == key.resource
        if not own:  # what else the request changes, a budget that an eviction counts in
            reference = _reference_of(key, uid)
        status = self._succeeded(code) if own else {"metadata": {}, "code": code}
        answer: bytes | None = None
        if self.keeps_response and own:
            answer = self.body(self.told or obj) if size <= MOST_BYTES else _TOO_MUCH
        notes = {note: text for note, text in annotations.items() if text or note not in _OWN}
        event = self._event(COMPLETE, status, reference, notes, answer)
        user = "" if self.user is None else self.user.name
        return Entry(plain(user), plain(self.info.verb), code, event)

    def event(self, stage: str, code: int = 0, error: ApiError | None = None) -> bytes:
        """Of the request at a stage; code 0: there is no answer yet."""
        status: dict[str, Any] | None = None
        if error is not None:
            status = {"metadata": {}, "status": "Failure", "code": code}
            if error.message and self.verdict.level is not Level.NONE:
                status["message"] = cut(error.message, _MOST_TEXT)
            if error.reason:
                status["reason"] = error.reason
            if error.details is not None:
                status["details"] = _bounded_details(error.details)
        elif code:
            status = self._succeeded(code) if stage == COMPLETE else {"metadata": {}, "code": code}
        reference = self.reference()
        if reference is not None and self.about and self.info.verb != "deletecollection":
            reference |= self.about
        answer = self.answered
        if error is not None and self.keeps_response:
            answer = _json(error.to_status())
        return self._event(stage, status, reference, {}, answer)

    def _succeeded(self, code: int) -> dict[str, Any]:
        """responseStatus of an answer that is no error: more than its code where it is a Status
        (``LogResponseObject``)."""
        status: dict[str, Any] = {"metadata": {}, "code": code}
        if self.told is not None and code < 400:
            status |= {k: self.told[k] for k in ("status", "details") if k in self.told}
        return status

    def reference(
        self, *, name: str = "", namespace: str = "", uid: str = ""
    ) -> dict[str, str] | None:
        """What the request is about, None where that is no resource."""
        info = self.info
        if not info.is_resource:
            return None
        named = self.named
        reference = {
            "resource": info.resource,
            "namespace": info.namespace or namespace or named.get("namespace", ""),
            "name": name or info.name or named.get("name", ""),
            "uid": uid or named.get("uid", ""),
            "resourceVersion": named.get("resourceVersion", ""),
            "apiGroup": info.group,
            "apiVersion": info.version,
            "subresource": info.subresource,
        }
        return _short((member, text) for member, text in reference.items() if text)

    def _asked(self, stage: str) -> dict[str, Any]:
        """Who asked for what, and from where."""
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": NAMES[self.verdict.level],
            "auditID": kept_audit_id(self.audit_id),
            "stage": stage,
            "requestURI": cut(self.uri, _MOST_TEXT),
            "verb": cut(self.info.verb, _MOST_AGENT),
            "user": {} if self.user is None else of_user(self.user),
        }
        if self.acting is not None:
            event["impersonatedUser"] = of_user(self.acting)
        if self.constraint:
            event["authenticationMetadata"] = {"impersonationConstraint": self.constraint}
        if self.addresses:
            event["sourceIPs"] = self.addresses
        if self.agent:
            event["userAgent"] = _agent(self.agent)
        return event

    def _event(
        self,
        stage: str,
        status: dict[str, Any] | None,
        reference: dict[str, str] | None,
        annotations: Mapping[str, str],
        answer: bytes | None,
    ) -> bytes:
        event = self._asked(stage)
        if reference is not None:
            event["objectRef"] = reference
        if status is not None:
            event["responseStatus"] = status
        notes = {TENANT_KEY: self.tenant, **self.annotations, **annotations}
        now = time.time()
        if stage == COMPLETE and self.info.verb != "watch":
            notes |= latencies.noted(self.delays, now - self.received)
        asking = self.acting or self.user
        if asking is not None and len(asking.groups) > _MOST_GROUPS:
            notes[GROUPS_CUT] = str(len(asking.groups))
        if self.keeps_request:
            event |= self._bodies(answer, notes)
        event["requestReceivedTimestamp"] = micro_time(self.received)
        event["stageTimestamp"] = micro_time(now)
        event["annotations"] = bounded(notes)
        return dumps(event)

    def _bodies(self, answer: bytes | None, notes: dict[str, str]) -> dict[str, Any]:
        """What was sent and answered, unless that is too much, which ``notes`` then says."""
        bodies = {"requestObject": self.sent(), "responseObject": answer}
        there = {name: body for name, body in bodies.items() if body}
        if sum(map(len, there.values())) > MOST_BYTES:
            notes[TRUNCATED] = "true"
            return {}
        return {name: orjson.Fragment(body) for name, body in there.items()}


def _reference_of(key: ObjectKey, uid: str) -> dict[str, str]:
    reference = {
        "resource": key.resource,
        "namespace": key.namespace,
        "name": key.name,
        "uid": uid,
        "apiGroup": key.group,
    }
    return {k: v for k, v in reference.items() if v}


def _without_managers(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


def _stripped(data: bytes) -> bytes | None:
    """A JSON answer, an object or a list, without managedFields; None for what cannot be read."""
    try:
        obj = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(obj, dict):
        return one_line(data)
    if isinstance(obj.get("items"), list):
        obj["items"] = [_without_managers(i) if isinstance(i, dict) else i for i in obj["items"]]
    for row in obj.get("rows") or () if obj.get("kind") == "Table" else ():
        if isinstance(row.get("object"), dict):
            row["object"] = _without_managers(row["object"])
    return _json(_without_managers(obj))


def one_line(data: bytes) -> bytes | None:
    """JSON without line breaks, which end an event in files; None for what is none, or is nested
    too deeply to be read."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    try:
        return orjson.dumps(value)
    except TypeError:  # nested more deeply than orjson writes
        return data.translate(None, _BREAKS)  # in strings they are escapes


def _json(value: Any) -> bytes | None:
    """None for what is nested too deeply."""
    try:
        return orjson.dumps(value)
    except TypeError:  # more deeply than orjson writes
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (RecursionError, ValueError):
        return None


def of_user(user: User) -> dict[str, Any]:
    """authentication.k8s.io/v1 UserInfo."""
    info: dict[str, Any] = {"username": cut(user.name, _MOST_TEXT)}
    if user.uid:
        info["uid"] = cut(user.uid, _MOST_TEXT)
    if user.groups:
        info["groups"] = user.groups[:_MOST_GROUPS]
    if user.extra:
        info["extra"] = dict(user.extra)
    return info


def bounded(notes: Mapping[str, str]) -> dict[str, str]:
    """Annotations, of which webhooks and policies may make many and long ones."""
    return _short(islice(notes.items(), _MOST_ANNOTATIONS))


def _bounded_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Of a Status. Causes may quote what was sent, at any length: too many of them are left out."""
    told = {k: cut(v, _MOST_NAME) if isinstance(v, str) else v for k, v in details.items()}
    causes = told.get("causes")
    if causes and len(_json(causes) or _TOO_MUCH) > _MOST_TEXT:
        del told["causes"]
    return told


def _short(members: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Not at any length."""
    said = dict(members)
    if sum(map(len, said.values())) <= _MOST_TEXT:
        return said
    return {k: cut(v, _MOST_TEXT) for k, v in said.items()}


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(CUT)] + CUT


def _agent(text: str) -> str:
    """As upstream cuts it: what says so comes on top."""
    return text if len(text) <= _MOST_AGENT else text[:_MOST_AGENT] + CUT


def kept_audit_id(given: str) -> str:
    """As entries have it: clients choose it, at any length."""
    return cut(given, _MOST_AGENT)


def micro_time(seconds: float) -> str:
    """RFC 3339 with six digits, as metav1.MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def plain(text: str) -> str:
    """As PostgreSQL takes it: no NUL, no half of a pair."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode(errors="replace").decode()


def dumps(event: dict[str, Any]) -> bytes:
    """JSON that PostgreSQL can look into."""
    try:
        data = orjson.dumps(event)
    except orjson.JSONEncodeError:  # half of a surrogate pair, which a token's JSON may hold
        data = orjson.dumps(_encodable(event))
    return data.replace(b"\\u0000", b"\\ufffd") if b"\\u0000" in data else data


def _encodable(value: Any) -> Any:
    match value:
        case str():
            return plain(value)
        case dict():
            return {_encodable(k): _encodable(v) for k, v in value.items()}
        case list() | tuple():
            return [_encodable(v) for v in value]
    return value
