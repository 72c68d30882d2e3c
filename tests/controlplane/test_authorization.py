"""Who decides, by the settings: what is refused at the start, and a file that changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.authorizers import counts
from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import World
from apiserver.authz.attributes import Attributes
from apiserver.identity import server_id_hash
from apiserver.user import User
from controlplane import authorization
from controlplane.authorization import Chosen
from controlplane.errors import OperatorError
from tests.support.waiting import until
from tests.support.webhooks import bundle

WORLD = World(1, "acme", None)  # type: ignore[arg-type]  # nobody reads anything
ASK = Attributes(User("eve"), "get", resource="pods")


def document(*authorizers: Any) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthorizationConfiguration",
            "authorizers": list(authorizers),
        }
    )


ALLOW = {"type": "AlwaysAllow", "name": "alwaysallow"}
DENY = {"type": "AlwaysDeny", "name": "alwaysdeny"}
RBAC = {"type": "RBAC", "name": "rbac"}


def hook(kubeconfig: Path) -> dict[str, Any]:
    webhook = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "NoOpinion",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(kubeconfig)},
    }
    return {"type": "Webhook", "name": "w", "webhook": webhook}


def kubeconfig(path: Path, server: str = "https://127.0.0.1:1/x") -> Path:
    cluster = {"server": server, "certificate-authority-data": bundle()}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(document))
    return path


def put(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink()
    else:
        file.write_text(text)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "authorization.yaml"
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_CONFIG_FILE", str(path))
    return path


def names(authority: Authority) -> list[str]:
    return [named.name for named in authority._links]


def chosen() -> Authority:
    authority = Authority()
    Chosen(authority).configure()
    return authority


def test_without_settings_rbac_decides() -> None:
    assert names(chosen()) == ["node", "rbac"]


def test_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "AlwaysDeny, RBAC")
    assert names(chosen()) == ["alwaysdeny", "rbac"]
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "ABAC")
    with pytest.raises(OperatorError, match='AUTHORIZATION_MODE=ABAC: "ABAC" is not a valid mode'):
        authorization.check()


def test_the_file(file: Path, tmp_path: Path) -> None:
    file.write_text(document(hook(kubeconfig(tmp_path / "k")), RBAC))
    authority = chosen()
    assert names(authority) == ["w", "rbac"]
    assert authority.looks_at_selectors
    assert not Authority().looks_at_selectors


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the document must be a mapping"),
        ("a: [", "failed to load AuthorizationConfiguration from file: while parsing"),
        (document({"type": "RBAC", "name": "x"}), "expected name rbac for authorizer RBAC"),
        (document(hook(Path("/nowhere"))), "stat /nowhere: no such file or directory"),
        (document(hook(Path("/tmp"))), "must be a regular file"),
    ],
)
def test_a_file_that_is_wrong_stops_the_start(file: Path, text: str, why: str) -> None:
    file.write_text(text)
    with pytest.raises(OperatorError, match=why):
        authorization.check()


def test_a_kubeconfig_that_is_wrong_stops_the_start(file: Path, tmp_path: Path) -> None:
    file.write_text(document(hook(kubeconfig(tmp_path / "k", "http://plain"))))
    with pytest.raises(OperatorError, match="server must be an https URL"):
        authorization.check()


def test_a_file_that_is_not_there_and_both_settings(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OperatorError, match="cannot be read: No such file"):
        authorization.check()
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "RBAC")
    with pytest.raises(OperatorError, match="both set"):
        authorization.check()


async def test_a_file_that_changes_is_obeyed_and_one_that_is_wrong_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(file, document(ALLOW))
    authority = Authority()
    settings = Chosen(authority)
    settings.configure()
    following = asyncio.create_task(settings.follow(0.01))

    def told(text: str) -> Callable[[], bool]:
        return lambda: any(text in record.getMessage() for record in caplog.records)

    caplog.set_level("INFO", "polyplane.authorization")
    before, began = dict(counts.RELOADS), time.time()
    assert (await authority.authorize(WORLD, ASK)).allowed
    put(file, document({"type": "RBAC", "name": "x"}))
    await until(told("changes nothing: expected name rbac"))
    assert (await authority.authorize(WORLD, ASK)).allowed
    put(file, None)
    await until(told(f"changes nothing: {file.name} cannot be read"))
    assert names(authority) == ["alwaysallow"]
    put(file, document(DENY))
    await until(told("has been read again"))
    assert not (await authority.authorize(WORLD, ASK)).allowed
    following.cancel()
    keys = {status: (status, server_id_hash()) for status in ("success", "failure")}
    counted = {k: counts.RELOADS[key] - before.get(key, 0) for k, key in keys.items()}
    assert counted["success"] == 1 and counted["failure"] >= 2
    (succeeded,), (failed,) = (counts.RELOADED[key] for key in keys.values())
    assert began <= failed <= succeeded
