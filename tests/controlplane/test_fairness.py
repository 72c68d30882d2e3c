"""Priority and fairness in a real installation of two workers."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import Installation, eventually

_ROOT = "/apis/flowcontrol.apiserver.k8s.io/v1"
_UID = "X-Kubernetes-PF-FlowSchema-UID"
_MANY = 16


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    path: Path = tmp_path_factory.mktemp("fairness")
    found = Installation(path, prepared)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def ask(
    installation: Installation, method: str, path: str, body: Any = None, user: str = ""
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """On a connection of its own, which any worker may get."""
    headers = {"Authorization": f"Bearer {installation.token}", "Content-Type": "application/json"}
    if user:
        headers |= {"Impersonate-User": user, "Impersonate-Group": "system:authenticated"}
    with closing(installation.connect()) as connection:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def create(installation: Installation, resource: str, name: str, spec: Any) -> str:
    body = {"metadata": {"name": name}, "spec": spec}
    status, _, text = ask(installation, "POST", f"{_ROOT}/{resource}", body)
    assert status == 201, text
    return str(json.loads(text)["metadata"]["uid"])


def schema(level: str, user: str) -> dict[str, Any]:
    rule = {
        "subjects": [{"kind": "User", "user": {"name": user}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": 20,
        "rules": [rule],
    }


def seen(installation: Installation, user: str) -> set[str | None]:
    """By many connections, so that no worker is left out."""
    return {ask(installation, "GET", "/version", user=user)[1][_UID] for _ in range(_MANY)}


def test_a_schema_counts_in_all_workers(installation: Installation) -> None:
    (before,) = seen(installation, "alice")
    assert before
    uid = create(installation, "flowschemas", "alices", schema("workload-low", "alice"))
    eventually(lambda: seen(installation, "alice") == {uid})
    assert seen(installation, "bob") == {before}
    assert ask(installation, "DELETE", f"{_ROOT}/flowschemas/alices")[0] == 200
    eventually(lambda: seen(installation, "alice") == {before})


def test_what_has_no_seats_is_refused_and_disturbs_nobody(installation: Installation) -> None:
    queuing = {"queues": 1, "handSize": 1, "queueLengthLimit": 1}
    limited = {
        "nominalConcurrencyShares": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Queue", "queuing": queuing},
    }
    spec = {"type": "Limited", "limited": limited}
    create(installation, "prioritylevelconfigurations", "nothing", spec)
    uid = create(installation, "flowschemas", "carols", schema("nothing", "carol"))

    def refused() -> tuple[int, http.client.HTTPMessage, bytes] | None:
        answer = ask(installation, "GET", "/version?timeout=1s", user="carol")
        return answer if answer[1][_UID] == uid else None

    status, headers, body = eventually(refused)
    assert (status, body) == (429, b"Too many requests, please try again later.\n")
    assert int(headers["Retry-After"]) >= 1
    with ThreadPoolExecutor(_MANY) as pool:
        flood = [
            pool.submit(ask, installation, "GET", "/version?timeout=8s", user="carol")
            for _ in range(_MANY)
        ]
        others = [ask(installation, "GET", "/version", user="bob")[0] for _ in range(4)]
        assert {f.result()[0] for f in flood} == {429}
    assert others == [200] * 4
    text = ask(installation, "GET", "/debug/api_priority_and_fairness/dump_priority_levels")[2]
    head = text.decode().splitlines()[0]
    assert head.split()[:3] == ["PriorityLevelName,", "ActiveQueues,", "IsIdle,"]
    assert ask(installation, "GET", "/debug/api_priority_and_fairness/x")[0] == 404


def test_the_dumps_are_not_for_everybody(installation: Installation) -> None:
    path = "/debug/api_priority_and_fairness/dump_requests"
    assert ask(installation, "GET", path, user="bob")[0] == 403
