"""Seats by work, as k8s.io/apiserver ``flowcontrol/request`` counts them."""

from __future__ import annotations

import pytest

from apiserver.flow.estimates import Stock, Watchers, work_of
from apiserver.flow.queueset import Work
from apiserver.request import parse_request

LIST = parse_request("GET", "/api/v1/namespaces/a/configmaps")
ONE = parse_request("GET", "/api/v1/namespaces/a/configmaps", field_name="x")
WATCH = parse_request("GET", "/api/v1/configmaps", watch=True)
POST = parse_request("POST", "/api/v1/namespaces/a/configmaps")
TOKEN = parse_request("POST", "/api/v1/namespaces/a/serviceaccounts/x/token")
MANY = Stock(1000, 5_000_000)


def seats(info: object, most: int, stock: Stock | None, watchers: int = 0, **query: str) -> Work:
    given = {name: [value] for name, value in query.items()}
    return work_of(info, given, most, lambda _: stock, lambda _: watchers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("info", "query", "most", "stock", "wanted"),
    [
        (LIST, {}, 0, None, 1),
        (LIST, {}, 0, Stock(0, 0), 1),
        (LIST, {}, 0, Stock(10, 1000), 1),
        (LIST, {}, 0, Stock(100, 250_000), 3),
        (LIST, {}, 0, MANY, 10),
        (LIST, {}, 4, MANY, 4),
        (LIST, {"limit": "100"}, 0, MANY, 5),
        (LIST, {"limit": "x"}, 7, MANY, 7),
        # more digits than Python converts: no limit, as any that is larger than the list
        (LIST, {"limit": "9" * 5000}, 0, MANY, 10),
        (LIST, {"limit": "0" * 5000 + "100"}, 0, MANY, 5),
        (LIST, {"continue": "t"}, 0, MANY, 50),
        (LIST, {"continue": "t", "limit": "100"}, 0, MANY, 5),
        (LIST, {"continue": "t", "limit": "100", "labelSelector": "a=b"}, 0, MANY, 25),
        (LIST, {"resourceVersionMatch": "Exact", "resourceVersion": "5"}, 0, MANY, 50),
        (ONE, {}, 0, MANY, 1),
        (WATCH, {}, 0, MANY, 10),
        (WATCH, {"resourceVersion": "0"}, 0, MANY, 10),
        (WATCH, {"resourceVersion": "77"}, 0, MANY, 1),
        (WATCH, {"resourceVersion": "77", "sendInitialEvents": "true"}, 0, MANY, 10),
        (WATCH, {"resourceVersion": "77", "sendInitialEvents": "false"}, 0, MANY, 1),
    ],
)
def test_lists_take_seats_by_their_bytes(
    info: object, query: dict[str, str], most: int, stock: Stock | None, wanted: int
) -> None:
    found = seats(info, most, stock, **query)
    assert (found.initial, found.final) == (wanted, 0)


@pytest.mark.parametrize(
    ("watchers", "most", "final", "lingers"),
    [(0, 0, 0, 0), (9, 0, 0, 0), (10, 0, 1, 0.005), (25, 0, 3, 0.005), (1000, 0, 10, 0.05)],
)
def test_changes_are_paid_for_by_watchers(
    watchers: int, most: int, final: int, lingers: float
) -> None:
    found = seats(POST, most, None, watchers)
    assert (found.initial, found.final, found.lingers) == (1, final, pytest.approx(lingers))


def test_tokens_make_no_events() -> None:
    assert seats(TOKEN, 0, None, 1000).most == 1


def test_watchers_are_those_who_hear_of_a_change() -> None:
    watchers = Watchers()
    over = [
        watchers.add(parse_request("GET", path, watch=True), {})
        for path in (
            "/api/v1/configmaps",
            "/api/v1/namespaces/a/configmaps",
            "/api/v1/namespaces/b/configmaps",
            "/api/v1/secrets",
        )
    ]
    one = parse_request("GET", "/api/v1/namespaces/a/configmaps", watch=True, field_name="x")
    over.append(watchers.add(one, {}))
    assert watchers.of(POST) == 2
    assert watchers.of(parse_request("PUT", "/api/v1/namespaces/a/configmaps/x")) == 3
    for end in over:
        end()
    assert watchers.of(POST) == 0


def test_watchers_of_one_nodes_pods_do_not_count() -> None:
    watchers = Watchers()
    pods = parse_request("GET", "/api/v1/pods", watch=True)
    watchers.add(pods, {"fieldSelector": ["spec.nodeName=n"]})
    assert watchers.of(parse_request("POST", "/api/v1/namespaces/a/pods")) == 0
    watchers.add(pods, {"fieldSelector": ["spec.nodeName!=n"]})
    assert watchers.of(parse_request("POST", "/api/v1/namespaces/a/pods")) == 1
