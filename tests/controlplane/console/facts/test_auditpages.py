"""What the audit log's page shows of what there is: what was done, or all of it.

| entry | without ``show=all`` |
|---|---|
| a write, also of a status, by somebody | shown |
| a write of a status by the server's own controllers | left out |
| a renewal of a lease by them | left out |
| another write of theirs | shown |
| a question that was answered: reviews, searches, counts | left out |
| a question that was refused, or that failed | shown |
| a create that an aggregated server keeps, a token, an eviction | shown |
| a dry run | left out |
| a dry run that was refused | shown |
| a read that the policy keeps, a login | shown |
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apiserver.storage.models import AuditEntry
from apiserver.storage.visibility import django_everywhere
from controlplane.console.facts import auditpages, newestchanges
from controlplane.tenancy.models import Tenant

from .conftest import Ask

SERVER, CONTROLLER = "system:apiserver", "system:kube-controller-manager"
REVIEWS = "authorization.k8s.io/selfsubjectaccessreviews"
SEARCHES, COUNTS = "search.polyplane.dev/objectsearches", "search.polyplane.dev/objectcounts"
HISTORY = "/apis/history.polyplane.dev/v1"
MAPS, QUOTAS, ACCOUNTS = "/configmaps", "/resourcequotas", "/serviceaccounts"
LEASES = "coordination.k8s.io/leases"
AGGREGATED = "metrics.example.com/readings"
DRY = "/api/v1/x?fieldManager=me&dryRun=All"
Row = tuple[str, str, str, int, int, dict[str, Any]]
"""(user, verb, group/resource, code, version, more)."""

SHOWN: dict[str, Row] = {
    "a write": ("reader-of-all", "create", MAPS, 201, 1, {}),
    "a status by somebody": ("reader-of-all", "update", QUOTAS, 200, 1, {"part": "status"}),
    "a status by a real controller": (CONTROLLER, "update", QUOTAS, 200, 1, {"part": "status"}),
    "what a controller makes": (CONTROLLER, "create", MAPS, 201, 1, {"uri": ""}),
    "a renewal by a real controller": (CONTROLLER, "update", LEASES, 200, 1, {}),
    "a lease that the server makes": (CONTROLLER, "create", LEASES, 201, 1, {"uri": ""}),
    "what the server deletes": (SERVER, "delete", "/events", 200, 1, {"uri": ""}),
    "a search that is refused": ("eve", "create", SEARCHES, 403, 0, {}),
    "a review that fails": ("eve", "create", REVIEWS, 500, 0, {}),
    "who is not known": ("", "create", REVIEWS, 401, 0, {}),
    "what another server keeps": ("reader-of-all", "create", AGGREGATED, 201, 0, {}),
    "a token": ("reader-of-all", "create", ACCOUNTS, 201, 0, {"part": "token", "name": "a"}),
    "a dry run that is refused": ("eve", "create", MAPS, 403, 0, {"uri": DRY}),
    "a read that is kept": ("reader-of-all", "get", "/secrets", 200, 0, {"name": "a"}),
    "a login": ("reader-of-all", "login", "/", 200, 0, {"uri": "/admin/login/"}),
    "a change of nothing": ("reader-of-all", "patch", MAPS, 200, 0, {"name": "a"}),
}
LEFT_OUT: dict[str, Row] = {
    "a renewal by the server": (CONTROLLER, "update", LEASES, 200, 1, {"uri": ""}),
    "a status by the server": (SERVER, "update", QUOTAS, 200, 1, {"part": "status", "uri": ""}),
    "a status by its controller": (
        CONTROLLER,
        "patch",
        MAPS,
        200,
        1,
        {"part": "status", "uri": ""},
    ),
    "a search": ("reader-of-all", "create", SEARCHES, 201, 0, {}),
    "a count": ("reader-of-all", "create", COUNTS, 201, 0, {}),
    "a review": ("reader-of-all", "create", REVIEWS, 201, 0, {}),
    "one's own tenants": (
        "reader-of-all",
        "create",
        "tenancy.polyplane.dev/selftenantreviews",
        201,
        0,
        {},
    ),
    "a create by dry run": ("reader-of-all", "create", MAPS, 201, 0, {"uri": DRY}),
    "a change by dry run": ("reader-of-all", "patch", MAPS, 200, 0, {"uri": DRY, "name": "a"}),
}


def made(namespace: str, at: datetime, row: Row) -> AuditEntry:
    user, verb, what, code, version, more = row
    group, _, resource = what.partition("/")
    part = {"subresource": more["part"]} if "part" in more else {}
    reference = {"objectRef": {"resource": resource, **part}} if resource else {}
    uri = more.get("uri", "/api/v1/x")
    known: dict[str, Any] = {"auditID": more["audit_id"]} if "audit_id" in more else {}
    if "message" in more:
        known["responseStatus"] = {"code": code, "message": more["message"]}
    return AuditEntry.objects.create(
        id=uuid4(),
        tenant_id=Tenant.objects.get(name="pages-owned").pk,
        at=at,
        resource_version=version,
        user_name=user,
        verb=verb,
        code=code,
        api_group=group,
        resource=resource,
        namespace=namespace,
        name=more.get("name", ""),
        data={"requestURI": uri, "user": {"username": user}, **reference, **known},
    )


@pytest.fixture
def namespace() -> str:
    """That of a test's own entries: nobody may delete one."""
    return f"ns-{uuid4()}"


@pytest.fixture
def entries(people: dict[str, User], namespace: str) -> dict[str, str]:
    """id -> what it is, of all kinds of entries; the newest ones are those that are left out."""
    now = datetime.now(UTC)
    with django_everywhere():
        return {
            str(made(namespace, now + timedelta(microseconds=i), row).pk): name
            for i, (name, row) in enumerate((SHOWN | LEFT_OUT).items())
        }


def found(ask: Ask, query: str) -> tuple[list[str], bool]:
    """Ids, and whether there are more."""
    status, answer = ask("looker", "GET", f"audit?{query}")
    assert status == 200, answer
    return [item["id"] for item in answer["items"]], answer["more"]


def test_what_was_done_is_shown_and_what_nobody_did_is_not(
    ask: Ask, namespace: str, entries: dict[str, str]
) -> None:
    ids, _ = found(ask, f"namespace={namespace}")
    assert {entries[i] for i in ids} == set(SHOWN)
    ids, _ = found(ask, f"namespace={namespace}&show=all")
    assert {entries[i] for i in ids} == {*SHOWN, *LEFT_OUT}


def test_pages_are_full_of_what_is_shown(ask: Ask, namespace: str, entries: dict[str, str]) -> None:
    newest = [*SHOWN][::-1]
    assert len(LEFT_OUT) > 3, "the newest entries are left out"
    ids, more = found(ask, f"namespace={namespace}&limit=3")
    assert ([entries[i] for i in ids], more) == (newest[:3], True)
    ids, more = found(ask, f"namespace={namespace}&limit={len(SHOWN)}")
    assert ([entries[i] for i in ids], more) == (newest, False)


def test_entries_of_one_request_are_found_by_its_audit_id(ask: Ask, namespace: str) -> None:
    """A request may have several, as a deletion of a collection has."""
    row = ("reader-of-all", "delete", MAPS, 200, 1, {"audit_id": namespace})
    now = datetime.now(UTC)
    with django_everywhere():
        own = [str(made(namespace, now + timedelta(microseconds=i), row).pk) for i in range(2)]
        made(namespace, now, ("reader-of-all", "delete", MAPS, 200, 1, {"audit_id": "another"}))
        made(namespace, now, SHOWN["a write"])
    assert found(ask, f"namespace={namespace}&auditID={namespace}")[0] == own[::-1]
    assert found(ask, f"auditID={namespace}&show=all")[0] == own[::-1]
    assert found(ask, f"auditID={namespace}0")[0] == []


def test_refusals_are_found_by_a_part_of_what_was_answered(ask: Ask, namespace: str) -> None:
    """Not what was done, whatever was answered to that."""
    said = {"message": "ValidatingAdmissionPolicy '50%_off' with binding 'b' denied request: no"}
    now = datetime.now(UTC)
    with django_everywhere():
        refused = str(made(namespace, now, ("eve", "create", MAPS, 422, 0, said)).pk)
        made(namespace, now, ("eve", "create", MAPS, 403, 0, {"message": "no such right"}))
        made(namespace, now, ("eve", "create", MAPS, 403, 0, {}))
        made(namespace, now, ("eve", "create", MAPS, 201, 1, said))
    for part in "%2750%25_off%27 with binding", "DENIED", "50%25_":
        assert found(ask, f"namespace={namespace}&message={part}")[0] == [refused]
    assert found(ask, f"namespace={namespace}&message=5%25off")[0] == []


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (f"{HISTORY}/namespaces/shop/revisions/265/rollback?fieldManager=x", "rollback of 265"),
        (f"/clusters/acme{HISTORY}/clusterrevisions/315/undelete", "undelete of 315"),
        (f"{HISTORY}/namespaces/shop/revisions/265/rollbacks", ""),
        ("/api/v1/namespaces/shop/services/x/proxy/revisions/1/rollback", ""),
        (f"/api/v1/namespaces/shop/configmaps?x={HISTORY}/clusterrevisions/1/undelete", ""),
    ],
)
def test_a_create_that_restored_an_object_says_so(
    ask: Ask, namespace: str, uri: str, expected: str
) -> None:
    with django_everywhere():
        made(namespace, datetime.now(UTC), ("reader-of-all", "create", MAPS, 201, 1, {"uri": uri}))
    _, answer = ask("looker", "GET", f"audit?namespace={namespace}")
    assert [item["restored"] for item in answer["items"]] == [expected]


def test_it_is_left_out_by_one_query(ask: Ask, namespace: str, entries: dict[str, str]) -> None:
    def queries(query: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            found(ask, query)
        return len(captured)

    queries("limit=1")  # logs in
    assert queries(f"namespace={namespace}") == queries(f"namespace={namespace}&show=all")


def test_the_newest_changes_are_those_of_people_and_the_servers_are_folded(
    ask: Ask, namespace: str, entries: dict[str, str]
) -> None:
    def changes(query: str) -> dict[str, int]:
        """What is shown -> how many it stands for."""
        status, answer = ask("looker", "GET", f"overview{query}")
        assert status == 200, answer
        times = [item["at"] for item in answer["changes"]]
        assert times == sorted(times, reverse=True)
        rows = [item for item in answer["changes"] if item["id"] in entries]
        return {entries[row["id"]]: row.get("count", 0) for row in rows}

    def counted() -> int:
        return sum(count for name, count in changes("").items() if name in folded)

    own = {name for name, row in SHOWN.items() if row[5].get("uri") == "" and row[4]}
    written = {name for name, row in SHOWN.items() if row[4]}
    folded = {"a lease that the server makes", "what the server deletes"}
    shown = changes("")
    assert shown.keys() == written - own | folded
    assert all(shown[name] == 0 for name in written - own)
    before = counted()
    with django_everywhere():
        for name in own:
            made(namespace, datetime.now(UTC) - timedelta(minutes=1), SHOWN[name])
    assert counted() == before + len(own)
    each = written | {n for n, row in LEFT_OUT.items() if row[4]}
    assert changes("?changes=all") == dict.fromkeys(each, 0)


def test_a_new_tenants_beginnings_do_not_push_out_what_people_write(
    ask: Ask, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newestchanges, "_LOOKED_AT", 30)
    with django_everywhere():
        now = datetime.now(UTC)
        written = str(made(namespace, now, SHOWN["a write"]).pk)
        for i in range(40):
            row = (SERVER, "create", "/namespaces", 201, 1, {"uri": "", "name": f"n{i}"})
            last = str(made("", now + timedelta(microseconds=i + 1), row).pk)
    rows = {item["id"]: item for item in ask("looker", "GET", "overview")[1]["changes"]}
    assert written in rows
    assert (rows[last]["count"], rows[last]["more"]) == (30, True)


@pytest.mark.parametrize("path", ["audit?show=some", "overview?changes=some"])
def test_a_choice_that_there_is_not(ask: Ask, path: str) -> None:
    status, answer = ask("looker", "GET", path)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert "has to be all, or left out" in answer["message"]


def test_what_can_only_be_created_is_a_question() -> None:
    asked = str(auditpages._questions())
    for name in ("tokenreviews", "objectsearches", "grantreviews", "selftenantreviews"):
        assert name in asked
    for name in ("configmaps", "tokens", "revisions"):
        assert f"'{name}'" not in asked
