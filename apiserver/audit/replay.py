"""Replay: the question that an entry's decision has answered, as an access review puts it.

The address says what was asked, and not the entry's objectRef: that has the name of what a POST has
made, and of each object that a deletecollection has met. What authorization asked beside the
request's own verb stands in an annotation.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from apiserver.audit.trail import AUTHORIZER, CUT, DECISION, GROUPS_CUT, REASON, RULE, VERB
from apiserver.authz.attributes import Decision
from apiserver.authz.explain import rule_text
from apiserver.meta.objects import Object
from apiserver.platformroles import ROLES
from apiserver.request import RequestInfo, parse_request, selected_name

_NOTES = (DECISION, REASON, RULE, AUTHORIZER)
_METHODS = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


class NoQuestion(Exception):
    """The entry has no decision, or not all that it was about. The text says what is wrong."""


def notes_of(decision: Decision) -> dict[str, str]:
    """What an entry says of a decision: upstream's two annotations, and the rule that allowed, or
    who else has decided."""
    if decision.error and not decision.allowed:
        return {REASON: "internal error"}
    notes = {DECISION: "allow" if decision.allowed else "forbid", REASON: decision.reason}
    if decision.grant is not None:
        notes[RULE] = rule_text(decision.grant)
    elif decision.authorizer:
        notes[AUTHORIZER] = decision.authorizer
    return notes


def annotate(annotations: dict[str, str], decision: Decision) -> None:
    """The last decision about a request is the one that counts; nothing of an earlier one stays."""
    if DECISION in annotations:
        for key in _NOTES:
            annotations.pop(key, None)
    annotations.update(notes_of(decision))


def recorded(event: Object) -> dict[str, str]:
    """What the entry says of its decision, as `notes_of`; texts that say nothing are not there."""
    notes = event.get("annotations") or {}
    return {key: notes[key] for key in _NOTES if notes.get(key)}


def spec_of(event: Object) -> Object:
    """The spec of a SubjectAccessReview or AccessExplanation. ``event``: an audit.k8s.io/v1 Event.
    Raises NoQuestion."""
    notes = event.get("annotations") or {}
    if DECISION not in notes:
        raise NoQuestion("nobody has decided about the request")
    if (role := notes.get(AUTHORIZER)) in ROLES:
        raise NoQuestion(f"the account's role {role} decided, which access reviews cannot name")
    if GROUPS_CUT in notes:
        raise NoQuestion("the user had more groups than the entry tells")
    user = event.get("impersonatedUser") or event.get("user") or {}
    spec: Object = {"user": user.get("username", "")}
    spec |= {member: user[member] for member in ("uid", "groups", "extra") if user.get(member)}
    verb = notes.get(VERB) or str(event.get("verb", ""))
    info, query = _read(event)
    if not info.is_resource:
        return spec | {"nonResourceAttributes": {"path": info.path, "verb": verb}}
    asked = {
        "verb": verb,
        "group": info.group,
        "version": info.version,
        "resource": info.resource,
        "subresource": info.subresource,
        "namespace": info.namespace,
        "name": info.name,
    }
    attributes: Object = {member: value for member, value in asked.items() if value}
    if verb in ("list", "watch", "deletecollection") and not info.by_path:
        for member in ("fieldSelector", "labelSelector"):
            if raw := query.get(member, [""])[0]:
                attributes[member] = {"rawSelector": raw}
    return spec | {"resourceAttributes": attributes}


def _read(event: Object) -> tuple[RequestInfo, dict[str, list[str]]]:
    """Raises NoQuestion."""
    uri: Any = event.get("requestURI")
    if not isinstance(uri, str) or not uri.startswith("/"):
        raise NoQuestion("the entry has no address")
    if uri.endswith(CUT):
        raise NoQuestion("the address was too long to be kept whole")
    path, _, text = uri.partition("?")
    query = parse_qs(text, keep_blank_values=True)
    verb = str(event.get("verb", ""))
    method = _METHODS.get(verb, "GET")
    watch, name = verb == "watch", selected_name(query)
    return parse_request(method, path, watch=watch, field_name=name), query
