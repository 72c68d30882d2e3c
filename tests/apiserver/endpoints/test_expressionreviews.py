"""ExpressionReview through the API: what expressions come to, and that it tells nobody anything.

Who asks, about whose rights                            what ``authorizer`` says
----------------------------------------------------    ----------------------------------------
eve, her own                                            as a SelfSubjectAccessReview
eve, her own, without the right to create those         an error
eve, by userInfo about ann                              an error
eve, about a service account                            an error
eve with the right to create SubjectAccessReviews       as that
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.grants import MAPS, binding, give, role, rule
from tests.support.users import RBAC, ROOT, as_user, authorizing

REVIEWS = "/apis/policies.polyplane.dev/v1/expressionreviews"
EVE = as_user("eve")
OBJECT: Object = {"metadata": {"name": "web", "labels": {"a": "b"}}, "spec": {"replicas": 3}}


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        yield authorizing(served)


async def asked(api: Api, *expressions: str, who: dict[str, str] = EVE, **spec: Any) -> Object:
    named = [{"name": str(at), "expression": text} for at, text in enumerate(expressions)]
    review = await api.ok("POST", REVIEWS, {"spec": {"expressions": named, **spec}}, **who)
    status: Object = review["status"]
    return status


async def result(api: Api, expression: str, **spec: Any) -> Object:
    (found,) = (await asked(api, expression, **spec))["results"]
    only: Object = found
    return only


@pytest.mark.parametrize(
    ("expression", "type", "value"),
    [
        ("object.spec.replicas > 2", "bool", True),
        ("object.spec.replicas + 1", "int", 4),
        ("oldObject == null", "bool", True),
        ("object.metadata.labels", "dyn", {"a": "b"}),
        ("request.operation", "string", "UPDATE"),
        ("request.userInfo.username", "string", "eve"),
        ("request.namespace + '/' + request.name", "string", "shop/web"),
        ("namespaceObject.metadata.labels['team']", "string", "x"),
        ("params.least < 3", "bool", True),
        ("variables.twice", "int", 6),
        ("duration('1m')", "google.protobuf.Duration", "60s"),
        ("b'ab'", "bytes", "YWI="),
        ("Object{spec: Object.spec{replicas: 5}}", "Object", {"spec": {"replicas": 5}}),
        (
            "[JSONPatch{op: 'add', path: '/a', value: 1}]",
            "list(JSONPatch)",
            [{"op": "add", "path": "/a", "value": 1}],
        ),
    ],
)
async def test_values(api: Api, expression: str, type: str, value: Any) -> None:
    found = await result(
        api,
        expression,
        object=OBJECT,
        params={"least": 2},
        mutation=True,
        variables=[{"name": "twice", "expression": "object.spec.replicas * 2"}],
        namespaceObject={"metadata": {"name": "shop", "labels": {"team": "x"}}},
        request={"operation": "UPDATE", "namespace": "shop", "name": "web"},
    )
    assert (found.get("error"), found["type"], found.get("value")) == (None, type, value)


async def test_what_does_not_compile_says_where(api: Api) -> None:
    found = await result(api, "object.spec.\n  replicas +", object=OBJECT)
    assert found["error"] == "compilation failed"
    assert [(i["line"], i["column"]) for i in found["issues"]] == [(2, 12)]
    unknown = await result(api, "objekt.spec")
    assert unknown["issues"][0]["column"] == 0
    assert unknown["issues"][0]["message"].startswith("undeclared reference to 'objekt'")
    assert (await result(api, "params.a == 1"))["error"] == "compilation failed", "there are none"


async def test_what_fails_says_why_and_the_others_go_on(api: Api) -> None:
    status = await asked(api, "object.spec.nothing > 1", "true", object=OBJECT)
    failed, held = status["results"]
    assert failed["error"].endswith("resulted in error: no such key: nothing")
    assert (held["value"], "error" in held) == (True, False)
    broken = [{"name": "bad", "expression": "1 +"}]
    assert "fails to compile" in (await result(api, "variables.bad", variables=broken))["error"]


async def test_cost_is_counted_and_ends(api: Api) -> None:
    status = await asked(api, "object.spec.replicas > 2", object=OBJECT)
    assert 0 < status["cost"] < 10 and status["budget"] == 10_000_000
    assert status["results"][0]["cost"] == status["cost"]
    many = {"items": list(range(400))}
    loops = "object.items.all(a, object.items.all(b, object.items.all(c, a + b + c >= 0)))"
    found = await result(api, loops, object=many)
    assert "cost limit exceeded" in found["error"]


async def test_a_value_that_is_too_large_is_not_shown(api: Api) -> None:
    found = await result(api, "object.text", object={"text": "x" * 70_000})
    assert "it has 70002 bytes" in found["error"] and "value" not in found
    assert "cannot be shown" in (await result(api, "type(1)"))["error"]
    assert "cannot be shown" in (await result(api, "{1: 2}"))["error"]


async def test_authorizer_says_of_oneself_what_a_review_would(api: Api) -> None:
    check = "authorizer.group('').resource('configmaps').check('get').allowed()"
    assert (await result(api, CHECK + ".errored()"))["value"] is True, "she may create no review"
    await give(api, SELF)
    assert (await result(api, CHECK + ".errored()"))["value"] is False
    assert (await result(api, check))["value"] is False
    await api.ok("POST", f"{RBAC}/clusterroles", role("maps", MAPS), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("maps", "maps", "eve"), **ROOT)
    assert (await result(api, check))["value"] is True


SELF = rule("selfsubjectaccessreviews", ["create"], "authorization.k8s.io")
ANN = {"userInfo": {"username": "ann"}}
CHECK = "authorizer.group('').resource('configmaps').check('get')"
ROBOT = "authorizer.serviceAccount('ns', 'robot').group('').resource('configmaps').check('get')"


@pytest.mark.parametrize(("expression", "request_"), [(CHECK, ANN), (ROBOT, {})])
async def test_the_rights_of_others_take_a_right(
    api: Api, expression: str, request_: Object
) -> None:
    await give(api, *MAPS, user="ann")
    await api.ok("POST", f"{RBAC}/clusterroles", role("self", [SELF]), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("self", "self", "eve"), **ROOT)
    hidden = await result(api, f"{expression}.error()", request=request_)
    assert "right to create SubjectAccessReviews" in hidden["value"]
    assert (await result(api, f"{expression}.allowed()", request=request_))["value"] is False
    told = await result(api, f"{expression}.error()", request=request_, who=ROOT)
    assert told["value"] == ""


async def test_somebody_with_that_right_is_told(api: Api) -> None:
    right = rule("subjectaccessreviews", ["create"], "authorization.k8s.io")
    await give(api, right, user="eve")
    found = await result(api, f"{CHECK}.errored()", request=ANN)
    assert found["value"] is False


async def test_what_is_no_question_is_refused(api: Api) -> None:
    assert (await api("POST", REVIEWS, {"spec": {"expressions": []}}, **EVE))[0] == 400
    many = [{"expression": "true"}] * 101
    assert (await api("POST", REVIEWS, {"spec": {"expressions": many}}, **EVE))[0] == 400
    wrong = {"expressions": [{"expression": "true"}], "namespaceObject": "shop"}
    assert (await api("POST", REVIEWS, {"spec": wrong}, **EVE))[0] == 400


async def test_nobody_unknown_may_ask(api: Api) -> None:
    status, _ = await api("POST", REVIEWS, {"spec": {"expressions": [{"expression": "true"}]}})
    assert status in (401, 403)


async def test_a_table_shows_the_values(api: Api) -> None:
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    body = {"spec": {"expressions": [{"expression": "1 + 1"}, {"expression": "1 +"}]}}
    table = await api.ok("POST", REVIEWS, body, **EVE, accept=accept)
    assert table["rows"][0]["cells"][0] == "2, compilation failed"
