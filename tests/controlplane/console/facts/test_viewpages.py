"""Saved views: one's own, in each tenant and of each kind, few and short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from controlplane.console.facts import viewpages

PODS = "/admin/console/facts/views/demo/pods"


@pytest.fixture
def two(postgres: str) -> Iterator[list[Client]]:
    accounts = [User.objects.create(username=f"views-{n}", is_staff=True) for n in range(2)]
    clients = [Client(), Client()]
    for client, account in zip(clients, accounts, strict=True):
        client.force_login(account)
    yield clients
    for account in accounts:
        account.delete()


def send(client: Client, method: str, body: object, path: str = PODS) -> tuple[int, Any]:
    answer = client.generic(method, path, json.dumps(body), secure=True)
    return answer.status_code, answer.json()


def put(client: Client, title: object, query: object = "?q=a", path: str = PODS) -> tuple[int, Any]:
    return send(client, "PUT", {"title": title, "query": query}, path)


def test_everybody_has_his_own_in_each_tenant(two: list[Client]) -> None:
    ann, bob = two
    assert put(ann, "<b>mine", "?q=a") == (200, {"views": {"<b>mine": "?q=a"}})
    assert put(ann, "<b>mine", "?q=b") == (200, {"views": {"<b>mine": "?q=b"}})
    for client, path in ((bob, PODS), (ann, PODS.replace("demo", "acme")), (ann, PODS + ".x")):
        assert client.get(path, secure=True).json() == {"views": {}}
    assert send(bob, "DELETE", {"title": "<b>mine"})[0] == 200
    assert ann.get(PODS, secure=True).json() == {"views": {"<b>mine": "?q=b"}}
    assert send(ann, "DELETE", {"title": "<b>mine"}) == (200, {"views": {}})


def test_a_view_gets_another_title(two: list[Client]) -> None:
    ann, bob = two
    for client in two:
        assert put(client, "one", "?q=a")[0] == 200
    assert put(ann, "two", "?q=b")[0] == 200

    def rename(was: object, title: str) -> tuple[int, Any]:
        return send(ann, "PUT", {"title": title, "was": was})

    assert rename("one", "first") == (200, {"views": {"first": "?q=a", "two": "?q=b"}})
    assert rename("two", "two")[0] == 200
    assert [rename(*asked)[0] for asked in (("first", "two"), ("one", "x"), ("x" * 101, "x"))] == (
        [409, 404, 400]
    )
    assert ann.get(PODS, secure=True).json() == {"views": {"first": "?q=a", "two": "?q=b"}}
    assert bob.get(PODS, secure=True).json() == {"views": {"one": "?q=a"}}


def test_they_are_few_and_short(two: list[Client], monkeypatch: pytest.MonkeyPatch) -> None:
    ann = two[0]
    for title, query in (
        ("", ""),
        ("x" * 101, ""),
        ("a", "?" + "x" * 4000),
        ("a", "//evil"),
        (1, ""),
    ):
        code, status = put(ann, title, query)
        assert (code, status["kind"]) == (400, "Status")
    monkeypatch.setattr(viewpages, "_MOST", 1)
    assert put(ann, "one")[0] == 200 and put(ann, "two")[0] == 403
    monkeypatch.setattr(viewpages, "_MOST_OF_ALL", 1)
    assert put(ann, "one", path=PODS + ".x")[0] == 403


def test_pages_of_others_save_nothing(two: list[Client]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = two[0].cookies
    answer = strict.put(PODS, {"title": "a"}, content_type="application/json", secure=True)
    assert answer.status_code == 403
    assert two[0].get(PODS, secure=True).json() == {"views": {}}
