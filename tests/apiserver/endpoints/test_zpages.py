"""/flagz and /statusz as people and programs see them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
import yaml

from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.endpoints.views import zpages
from apiserver.errors import NotAcceptable
from apiserver.meta import features
from apiserver.user import User

FLAGS = {"workers": "2", "secret-key": "CLASSIFIED", "feature-gates": "A=true"}
OPERATOR = User("root", groups=("system:masters",), everywhere=True)
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only.\n"
)


@pytest.fixture(autouse=True)
def gates() -> Iterator[None]:
    yield
    features.activate({})


def ask(
    path: str, accept: str = "", user: User = OPERATOR, prefix: str = "", age: float = 0
) -> tuple[ApiRequest, Any]:
    async def unused(*_: Any) -> Any:
        raise AssertionError

    request = ApiRequest(
        {
            "method": "GET",
            "path": prefix + path,
            "raw_path": (prefix + path).encode(),
            "headers": [(b"accept", accept.encode())],
            "query_string": b"",
        },
        unused,
    )
    request.user = user
    server = SimpleNamespace(
        flags=FLAGS,
        git_version="v1.36.2+here-1",
        started_at=datetime.now(UTC) - timedelta(seconds=age),
    )
    return request, asyncio.run(zpages.VIEWS[path](cast(Server, server), request, unused))


def structured(kind: str, version: str = "v1beta1", media_type: str = "application/json") -> str:
    return f"{media_type};g=config.k8s.io;v={version};as={kind}"


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "application/json, text/*"])
def test_people_get_text(accept: str) -> None:
    _, answer = ask("/flagz", accept)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.content.decode() == (
        f"\napiserver flagz\n{WARNING}feature-gates: A=true\nsecret-key: CLASSIFIED\nworkers: 2\n"
    )


@pytest.mark.parametrize(
    ("user", "prefix"),
    [
        (User("admin", groups=("system:masters",)), ""),
        (User("root", everywhere=True), ""),
        (OPERATOR, "/clusters/default"),
    ],
)
def test_a_tenant_sees_what_changes_its_api(user: User, prefix: str) -> None:
    _, answer = ask("/flagz", structured("Flagz"), user, prefix)
    assert orjson.loads(answer.content) == {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "apiserver"},
        "flags": {"feature-gates": "A=true"},
    }


def test_status_as_text() -> None:
    _, answer = ask("/statusz", age=3 * 3600 + 2 * 60 + 1.5)
    lines = answer.content.decode().removeprefix(f"\napiserver statusz\n{WARNING}\n").splitlines()
    assert lines[0].startswith("Started: ") and lines[0].endswith(
        f" UTC {(datetime.now(UTC) - timedelta(hours=3, minutes=2)).year}"
    )
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "Up",
        "Go version",
        "Binary version",
        "Emulation version",
        "Paths",
    ]
    assert lines[1].startswith("Up: 3 hr 02 min 0")
    assert lines[3:] == [
        "Binary version: 1.36.2+here-1",
        "Emulation version: 1.36",
        "Paths: /flagz /healthz /livez /metrics /readyz /version",
    ]


def test_status_for_programs() -> None:
    request, answer = ask("/statusz", structured("Statusz", media_type="application/yaml"), age=60)
    assert answer["Content-Type"] == structured("Statusz", media_type="application/yaml")
    status = yaml.safe_load(answer.content)
    assert status.pop("goVersion").startswith("python")
    assert status.pop("uptimeSeconds") >= 60
    assert status.pop("startTime")
    assert status == {
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "apiserver"},
        "binaryVersion": "1.36.2+here-1",
        "emulationVersion": "1.36",
        "paths": ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/version"],
    }
    assert request.warnings == []


def test_the_alpha_version_warns() -> None:
    request, answer = ask("/statusz", structured("Statusz", "v1alpha1"))
    assert orjson.loads(answer.content)["apiVersion"] == "config.k8s.io/v1alpha1"
    assert request.warnings == [
        "This version of the statusz endpoint is deprecated. Please use a newer version."
    ]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        structured("Flagz"),
        structured("Statusz", "v1"),
        structured("Statusz", media_type="text/plain"),
        "application/vnd.kubernetes.protobuf",
    ],
)
def test_what_has_no_such_form_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        ask("/statusz", accept)
    assert refused.value.message == (
        "only the following media types are accepted: application/json, application/yaml, "
        "text/plain, application/cbor"
    )


@pytest.mark.parametrize(
    ("path", "gate"), [("/flagz", "ComponentFlagz"), ("/statusz", "ComponentStatusz")]
)
def test_a_page_that_is_switched_off_is_not_there(path: str, gate: str) -> None:
    features.activate({gate: False})
    assert ask(path)[1].status_code == 404
