"""What is done about an object and a row, case by case: who deletes, who grants, who wins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.tenancy import declaration
from controlplane.tenancy.declaration import FINALIZER, Step
from controlplane.tenancy.models import Tenant

OWN, OTHER = "uid-1", "uid-2"


def an_object(
    *, leaving: bool = False, held: bool = True, protected: bool = False, **spec: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": "acme",
        "uid": OWN,
        "creationTimestamp": "2030-01-01T00:00:00Z",
        "finalizers": [FINALIZER] if held else ["somebody.example/else"],
    }
    if leaving:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"deletionProtection": protected, **spec}}


def a_row(state: str = "active", uid: str = OWN, **columns: Any) -> Tenant:
    return Tenant(name="acme", state=state, object_uid=uid, **columns)


# object, row, whether a command has deleted the tenant of the object → what is done
MATRIX = [
    (None, None, False, Step.NOTHING),
    # rows that commands have made, or whose object somebody has torn away from its finalizer
    (None, a_row(uid=""), False, Step.MAKE_OBJECT),
    (None, a_row("suspended", uid=""), False, Step.MAKE_OBJECT),
    (None, a_row(), False, Step.MAKE_OBJECT),
    (None, a_row(deletion_protection=True), False, Step.MAKE_OBJECT),
    (None, a_row("deleting"), False, Step.DROP_TENANT),
    # objects that stay
    (an_object(), None, False, Step.MAKE_ROW),
    (an_object(protected=True), None, False, Step.MAKE_ROW),
    (an_object(), None, True, Step.DROP_OBJECT),
    (an_object(protected=True), None, True, Step.DROP_OBJECT),
    (an_object(), a_row(), False, Step.AGREE),
    (an_object(), a_row("suspended"), False, Step.AGREE),
    (an_object(), a_row(uid=""), False, Step.ADOPT),
    (an_object(), a_row(uid=OTHER), False, Step.ADOPT),
    (an_object(), a_row("deleting"), False, Step.DROP_TENANT),
    (an_object(protected=True), a_row("deleting"), False, Step.DROP_TENANT),
    # objects that are being deleted
    (an_object(leaving=True), a_row(), False, Step.DROP_TENANT),
    (an_object(leaving=True), a_row("suspended"), False, Step.DROP_TENANT),
    (an_object(leaving=True), a_row("deleting"), False, Step.DROP_TENANT),
    (an_object(leaving=True, protected=True), a_row(), False, Step.HOLD),
    (an_object(leaving=True, protected=True), a_row("suspended"), False, Step.HOLD),
    (an_object(leaving=True, protected=True), a_row("deleting"), False, Step.DROP_TENANT),
    (an_object(leaving=True), None, False, Step.RELEASE),
    (an_object(leaving=True, protected=True), None, False, Step.RELEASE),
    (an_object(leaving=True), None, True, Step.RELEASE),
    # one that was never the tenant's takes none with it
    (an_object(leaving=True), a_row(uid=""), False, Step.RELEASE),
    (an_object(leaving=True), a_row(uid=OTHER), False, Step.RELEASE),
    # somebody else's finalizer is left that holds it
    (an_object(leaving=True, held=False), a_row(), False, Step.NOTHING),
    (an_object(leaving=True, held=False), None, False, Step.NOTHING),
]


@pytest.mark.parametrize(("obj", "row", "departed", "expected"), MATRIX)
def test_each_case(obj: Any, row: Tenant | None, departed: bool, expected: Step) -> None:
    assert declaration.step(obj, row, departed=departed) is expected


def said(**changes: Any) -> dict[str, Any]:
    return {**declaration.of_object(an_object()), **changes}


ALICE, BOB, CAROL = (["User:alice"], ["User:bob"], ["User:carol"])


# agreed before, object, row → what both say then
@pytest.mark.parametrize(
    ("before", "obj", "row", "agreed"),
    [
        (said(), said(owners=ALICE), said(), ALICE),
        (said(), said(), said(owners=ALICE), ALICE),
        (said(owners=ALICE), said(), said(owners=ALICE), []),
        (said(owners=ALICE), said(owners=ALICE), said(), []),
        (said(owners=ALICE), said(owners=BOB), said(owners=CAROL), BOB),
        (said(owners=ALICE), said(owners=ALICE), said(owners=ALICE), ALICE),
        # an object that comes later than the tenant grants nothing
        (None, said(owners=BOB), said(), []),
        (None, said(), said(owners=ALICE), ALICE),
    ],
)
def test_who_grants(before: Any, obj: Any, row: Any, agreed: list[str]) -> None:
    assert declaration.agreed(before, obj, row)["owners"] == agreed


def test_each_member_is_brought_to_what_changed_it() -> None:
    before = said(displayName="old", quotas={"objects": 500})
    obj, row = {**before, "displayName": "new"}, {**before, "quotas": {"objects": 700}}
    agreed = declaration.agreed(before, obj, row)
    assert (agreed["displayName"], agreed["quotas"]) == ("new", {"objects": 700})


def test_an_adopted_object_takes_nothing_over() -> None:
    row = said(owners=ALICE, suspended=True)
    assert declaration.agreed(said(), said(owners=BOB), row, row_leads=True) == row


def test_what_a_tenant_is_made_from_stays() -> None:
    changed = said(templates=["other"])
    assert declaration.agreed(said(), changed, said())["templates"] == []


def test_row_and_object_say_the_same_after_a_round() -> None:
    obj = an_object(
        displayName="Acme",
        owners=[{"kind": "Group", "name": "dev"}, {"kind": "User", "name": "alice"}],
        templates=[{"name": "std"}],
        quotas={"objects": 500, "logBytes": 2**30, "watches": 3},
        retentionSeconds=60,
        controllersOff=["garbage-collector-controller"],
        suspended=True,
        ttlSeconds=3600,
        protected=True,
    )
    obj["metadata"]["labels"] = {"team": "x"}
    row = a_row()
    declaration.into_row(row, declaration.of_object(obj))
    assert row.expires_at == datetime(2030, 1, 1, 1, tzinfo=UTC)
    assert declaration.of_row(row) == declaration.of_object(obj)
    other = an_object()
    assert declaration.into_object(other, declaration.of_row(row))
    assert declaration.of_object(other) == declaration.of_row(row)
    assert not declaration.into_object(other, declaration.of_row(row))


def test_a_command_s_time_takes_the_place_of_ttl_seconds() -> None:
    obj = an_object(ttlSeconds=60)
    declaration.into_object(obj, said(expiresAt="2031-01-01T00:00:00Z"))
    assert obj["spec"]["expiresAt"] == "2031-01-01T00:00:00Z" and "ttlSeconds" not in obj["spec"]
