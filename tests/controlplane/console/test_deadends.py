"""Pages that stand where a table has none to show: not there, not allowed, refused. Each
has a way on."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from controlplane.console.security import POLICY
from tests.support.superusers import superuser


@pytest.fixture
def client(postgres: str) -> Client:
    return superuser("dead-ends")


@pytest.mark.parametrize("path", ["/admin/nosuch", "/admin/console/storedobject/never/change/"])
def test_what_is_not_there_has_a_way_out(client: Client, path: str) -> None:
    response = client.get(path, secure=True)
    html = response.content.decode()
    assert response.status_code == 404 and "There is no such page" in html
    assert 'href="/admin/console/"' in html and "Polyplane" in html
    assert response["Content-Security-Policy"] == POLICY


def test_what_is_refused_has_a_way_out(client: Client) -> None:
    response = client.get("/admin/console/storedobject/?data__a=1", secure=True)
    html = response.content.decode()
    assert response.status_code == 400 and "The server does not take this request" in html
    assert 'href="/admin/console/"' in html and "narrowed by its own filters only" in html


def test_what_one_may_not_see_says_so_and_has_a_way_out(postgres: str) -> None:
    user, _ = User.objects.get_or_create(username="no-viewer", defaults={"is_staff": True})
    client = Client()
    client.force_login(user)
    response = client.get("/admin/console/storedobject/", secure=True)
    html = response.content.decode()
    assert response.status_code == 403 and "You may not see this page" in html
    assert "no-viewer" in html and 'href="/admin/console/me"' in html


def test_an_address_is_never_markup(client: Client) -> None:
    html = client.get("/admin/%3Cimg src=x onerror=alert(1)%3E", secure=True).content.decode()
    assert "<img src=x" not in html and "&lt;img" in html


def test_a_form_of_nobody_is_not_taken_and_told_so() -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/admin/login/", {"username": "x", "password": "y"}, secure=True)
    assert response.status_code == 403 and b"That form was not taken" in response.content


def test_a_path_that_is_no_text_is_not_found_and_has_a_way_out(client: Client) -> None:
    response = client.get("/admin/t/%E0%A4", secure=True)
    assert response.status_code == 404 and "There is no such page" in response.content.decode()


def test_a_link_logs_nobody_out_and_says_how(client: Client) -> None:
    response = client.get("/admin/logout/", secure=True)
    html = response.content.decode()
    assert response.status_code == 405 and response["Allow"] == "POST, OPTIONS"
    assert "You are still logged in" in html and "dead-ends" in html
    assert 'href="/admin/console/"' in html and 'method="post"' in html
    assert response["Content-Security-Policy"] == POLICY
    assert client.get("/admin/", secure=True).status_code == 200, "nobody is logged out"


def test_who_has_logged_out_is_told_so_and_led_back(client: Client) -> None:
    response = client.post("/admin/logout/", secure=True)
    html = response.content.decode()
    assert response.status_code == 200 and "You are logged out" in html
    assert "web site today" not in html and "Log in again" in html
    assert 'href="/admin/"' in html and "Polyplane" in html
