"""The past with the real kubectl: plain, and with the plugin."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.kubectl import PROGRAM, Kubectl, config_map
from tests.support.kubectlplugin import Plugin, plugin, printed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None, reason="kubectl is not on PATH: NOTHING of kubectl polyplane is tested"
    ),
]

NUMBERS = itertools.count(1)


@pytest.fixture
def ns(kubectl: Kubectl) -> Iterator[str]:
    name = f"past{next(NUMBERS)}"
    for context in "default", "demo":
        kubectl.at(context)("create", "namespace", name)
    yield name
    for context in "default", "demo":
        kubectl.at(context)("delete", "ns", name, "--wait=false")


@pytest.fixture
def polyplane(kubectl: Kubectl, tmp_path: Path) -> Plugin:
    return plugin(kubectl, tmp_path)


def web(kubectl: Kubectl, ns: str) -> None:
    """ConfigMap web: a=1 by ann, b=1 by bob, a=2 by ann."""
    for manager, data in ("ann", {"a": "1"}), ("bob", {"b": "1"}), ("ann", {"a": "2"}):
        kubectl(
            *("apply", "--server-side", "-n", ns, "-f", "-", f"--field-manager={manager}"),
            stdin=config_map("web", **data),
        )


def test_plain_kubectl(kubectl: Kubectl, ns: str) -> None:
    web(kubectl, ns)
    select = "--field-selector=object.resource=configmaps,object.name=web"
    rows = kubectl("get", "revisions", "-n", ns, select).splitlines()
    assert rows[0].split() == ["NAME", "OBJECT", "TYPE", "VERB", "MANAGER", "USER", "AGE"]
    told = [row.split()[1:6] for row in rows[1:]]
    assert told == [
        ["configmaps/web", "MODIFIED", "patch", "ann", "admin"],
        ["configmaps/web", "MODIFIED", "patch", "bob", "admin"],
        ["configmaps/web", "ADDED", "patch", "ann", "admin"],
    ]
    first = rows[3].split()[0]
    one = kubectl.get("revision", first, "-n", ns)
    assert one["object"]["data"] == {"a": "1"}
    then = f"{select},asOf={rows[2].split()[0]}"
    (state,) = kubectl.get("revisions", "-n", ns, then)["items"]
    assert state["object"]["data"] == {"a": "1", "b": "1"}
    path = f"/apis/history.polyplane.dev/v1/namespaces/{ns}/revisions/{first}"
    kubectl("create", "--raw", f"{path}/rollback", "-f", "-", stdin="")
    assert kubectl.get("cm", "web", "-n", ns)["data"] == {"a": "1"}
    assert "revisions" in kubectl("api-resources", "--api-group=history.polyplane.dev")
    assert "FIELDS" in kubectl("explain", "revisions")
    assert kubectl("get", "clusterrevisions", "--field-selector=object.kind=Namespace")
    assert "field label not supported" in kubectl.refused(
        "get", "revisions", "-n", ns, "--field-selector=x=y"
    )


def test_the_plugin(kubectl: Kubectl, ns: str, polyplane: Plugin) -> None:
    web(kubectl, ns)
    rows = printed(polyplane("history", "cm/web", "-n", ns)).splitlines()
    three, two, one = (row.split()[0] for row in rows[1:])
    assert rows[1].split()[1:6] == ["configmaps/web", "MODIFIED", "patch", "ann", "admin"]

    changed = printed(polyplane("diff", "cm/web", "-n", ns)).splitlines()
    assert changed[0].startswith(f"--- configmaps/web@{two}")
    assert "-  a: '1'" in changed and "+  a: '2'" in changed
    assert "+  b: '1'" in printed(polyplane("diff", "cm/web", one, three, "-n", ns))

    lines = printed(polyplane("blame", "cm/web", "-n", ns)).splitlines()
    gutters = {line.partition("|")[2].strip(): line.split() for line in lines}
    assert gutters["a: '2'"][0] == three and gutters["b: '1'"][0] == two
    assert gutters["b: '1'"][2:5] == ["bob", "(apply)", "admin"]

    tried = printed(polyplane("rollback", "cm/web", "--to-revision", one, "-n", ns, "--dry-run"))
    assert tried == f"configmap/web is as in revision {one} (server dry run)\n"
    printed(polyplane("rollback", "cm/web", "--to-revision", one, "-n", ns))
    assert kubectl.get("cm", "web", "-n", ns)["data"] == {"a": "1"}

    kubectl("delete", "cm", "web", "-n", ns)
    assert "web" in printed(polyplane("history", "--deleted", "-n", ns))
    printed(polyplane("undelete", "cm/web", "-n", ns))
    assert kubectl.get("cm", "web", "-n", ns)["data"] == {"a": "1"}
    refused = polyplane("undelete", "cm/web", "-n", ns)
    assert refused.returncode == 1 and "already exists" in refused.stderr

    state = yaml.safe_load(printed(polyplane("as-of", three, "cm", "-n", ns)))
    found = {o["metadata"]["name"]: o.get("data") for o in state["items"]}
    assert found["web"] == {"a": "2", "b": "1"}


def test_the_plugin_asks_the_tenant_of_the_context(
    kubectl: Kubectl, ns: str, polyplane: Plugin
) -> None:
    web(kubectl.at("demo"), ns)
    rows = printed(polyplane("history", "cm/web", "-n", ns, context="demo")).splitlines()
    assert len(rows) == 4
    nothing = polyplane("diff", "cm/web", "-n", ns)
    assert nothing.returncode == 1 and "nothing is retained" in nothing.stderr
    found = printed(polyplane("history", f"namespace/{ns}", context="demo"))
    assert f"namespaces/{ns}" in found


def test_rights(kubectl: Kubectl, ns: str, polyplane: Plugin) -> None:
    """A reader of ConfigMaps and of revisions sees those, not who wrote them, and no Secret; what
    would grant more than he holds is not rolled back to."""

    def role(name: str, *words: str) -> None:
        kubectl("create", "role", name, "-n", ns, *words)
        kubectl("create", "rolebinding", name, "-n", ns, f"--role={name}", "--user=rob")

    web(kubectl, ns)
    kubectl("create", "secret", "generic", "s", "-n", ns, "--from-literal=k=v")
    role("maps", "--verb=get,list", "--resource=configmaps")
    denied = polyplane("history", "cm/web", "-n", ns, "--as", "rob")
    assert 'cannot list resource "revisions"' in denied.stderr
    role("past", "--verb=get,list", "--resource=revisions.history.polyplane.dev")
    rows = printed(polyplane("history", "cm/web", "-n", ns, "--as", "rob")).splitlines()
    assert rows[1].split()[4] == "ann" and "admin" not in rows[1]
    secret = polyplane("history", "secret/s", "-n", ns, "--as", "rob")
    assert 'cannot get resource "secrets"' in secret.stderr
    everything = printed(polyplane("history", "-n", ns, "--as", "rob"))
    assert "secrets/" not in everything and "configmaps/" in everything

    kubectl("create", "role", "strong", "-n", ns, "--verb=*", "--resource=secrets")
    strong = kubectl.get("role", "strong", "-n", ns)["metadata"]["resourceVersion"]
    kubectl("patch", "role", "strong", "-n", ns, "--type=merge", "-p", '{"rules":[]}')
    role("roles", "--verb=get,list,update", "--resource=roles")
    role("back", "--verb=create", "--resource=revisions.history.polyplane.dev/rollback")
    words: list[Any] = ["rollback", "role/strong", "--to-revision", strong, "-n", ns, "--as", "rob"]
    grant = polyplane(*words)
    assert "attempting to grant RBAC permissions not currently held" in grant.stderr


def test_how_far_back_it_reaches(kubectl: Kubectl, polyplane: Plugin, ns: str) -> None:
    for context in "default", "demo":
        at = kubectl.at(context)
        head, row = at("get", "retainedlogs").splitlines()
        assert head.split() == ["NAME", "BEGINS", "REACH", "OLDEST", "NEWEST", "RETENTION"]
        begins = row.split()[1]
        head, told = printed(polyplane("reach", context=context)).splitlines()
        assert head.split() == ["BEGINS", "AGE", "OLDEST", "NEWEST", "RETENTION"]
        assert told.split()[0] == begins and told.split()[-1] == "86400s"
        log = yaml.safe_load(printed(polyplane("reach", "-o", "yaml", context=context)))
        assert (log["kind"], log["begins"]) == ("RetainedLog", begins)
        assert at("get", "revisions", "-n", ns, f"--field-selector=asOf={begins}") == ""
    assert "retainedlogs" in kubectl("api-resources", "--api-group=history.polyplane.dev")
