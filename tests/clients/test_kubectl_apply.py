"""Server-side apply with the real kubectl: who owns what, conflicts, diff, the way from client-side
apply, real definitions."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.meta.objects import Object
from tests.support.installation import REPOSITORY, Installation
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = [pytest.mark.slow, NEEDS_KUBECTL]

NUMBERS = itertools.count(1)
CRDS = REPOSITORY.parent / "shared" / "crds"
CONTROLLER = "kube-controller-manager"
MIGRATED = "kubectl.kubernetes.io/last-applied-configuration"


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def apply(kubectl: Kubectl, ns: str, obj: Object, *more: str) -> str:
    return kubectl("apply", "--server-side", "-n", ns, "-f", "-", *more, stdin=obj)


def owners(kubectl: Kubectl, ns: str, *what: str) -> dict[tuple[str, str, str], Object]:
    """(manager, operation, subresource) → fields."""
    entries = kubectl.get(*what, "-n", ns, "--show-managed-fields")["metadata"].get(
        "managedFields", []
    )
    return {
        (e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"] for e in entries
    }


def names(data: Object) -> Object:
    return {"f:data": {f"f:{name}": {} for name in data}}


# --- apply ----------------------------------------------------------------------------------------
def test_apply_creates_changes_and_takes_away(kubectl: Kubectl, ns: str) -> None:
    assert apply(kubectl, ns, config_map("c", a="1", b="1")) == "configmap/c serverside-applied\n"
    assert owners(kubectl, ns, "cm", "c") == {("kubectl", "Apply", ""): names({"a": 0, "b": 0})}
    kubectl(
        "patch",
        "cm",
        "c",
        "-n",
        ns,
        "--type=merge",
        "-p",
        '{"data":{"c":"1"}}',
        "--field-manager=someone",
    )
    apply(kubectl, ns, config_map("c", a="2"))
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"a": "2", "c": "1"}, (
        "b was ours and is given up, c is someone's"
    )


def test_an_apply_that_changes_nothing_writes_nothing(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, config_map("c", a="1"))
    before = kubectl.get("cm", "c", "-n", ns, "--show-managed-fields")
    assert apply(kubectl, ns, config_map("c", a="1")) == "configmap/c serverside-applied\n"
    assert kubectl.get("cm", "c", "-n", ns, "--show-managed-fields") == before


def test_managed_fields_are_hidden_until_asked_for(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, config_map("c", a="1"))
    for output in ("yaml", "json"):
        assert "managedFields" not in kubectl("get", "cm", "c", "-n", ns, "-o", output)
        assert "managedFields" in kubectl(
            "get", "cm", "c", "-n", ns, "-o", output, "--show-managed-fields"
        )


def test_conflicts_are_told_and_forced(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, config_map("c", a="1", b="1", c="1"), "--field-manager=first")
    taken = config_map("c", a="2", b="2")
    said = kubectl.refused(
        "apply", "--server-side", "--field-manager=second", "-n", ns, "-f", "-", stdin=taken
    )
    assert 'Apply failed with 2 conflicts: conflicts with "first":\n- .data.a\n- .data.b\n' in said
    assert "`--force-conflicts`" in said, "kubectl knows the conflict by its reason and explains"
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"a": "1", "b": "1", "c": "1"}
    apply(kubectl, ns, taken, "--field-manager=second", "--force-conflicts")
    assert owners(kubectl, ns, "cm", "c") == {
        ("first", "Apply", ""): names({"c": 0}),
        ("second", "Apply", ""): names({"a": 0, "b": 0}),
    }


def test_a_shared_field_stays_until_its_last_owner_leaves(kubectl: Kubectl, ns: str) -> None:
    for manager in ("first", "second"):
        apply(kubectl, ns, config_map("c", a="1", **{manager: "1"}), f"--field-manager={manager}")
    apply(kubectl, ns, config_map("c", first="1"), "--field-manager=first")
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"a": "1", "first": "1", "second": "1"}
    nothing = {k: v for k, v in config_map("c").items() if k != "data"}
    apply(kubectl, ns, nothing, "--field-manager=second")
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"first": "1"}
    assert set(owners(kubectl, ns, "cm", "c")) == {("first", "Apply", "")}


def test_commands_write_under_their_own_names(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "-n", ns, "-f", "-", stdin=config_map("c", a="1"))
    kubectl("label", "cm", "c", "x=y", "-n", ns)
    kubectl("annotate", "cm", "c", "x=y", "-n", ns)
    kubectl("patch", "cm", "c", "-n", ns, "--type=merge", "-p", '{"data":{"b":"1"}}')
    updates = [
        ("kubectl-create", "Update", ""),
        ("kubectl-label", "Update", ""),
        ("kubectl-annotate", "Update", ""),
    ]
    assert set(owners(kubectl, ns, "cm", "c")) == {*updates, ("kubectl-patch", "Update", "")}


def test_dry_run_shows_what_would_come_and_writes_nothing(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, config_map("c", a="1"))
    shown = yaml.safe_load(
        apply(kubectl, ns, config_map("c", b="1"), "--dry-run=server", "-o", "yaml")
    )
    assert shown["data"] == {"b": "1"}
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"a": "1"}
    assert (
        apply(kubectl, ns, config_map("new", b="1"), "--dry-run=server")
        == "configmap/new serverside-applied (server dry run)\n"
    )
    assert "not found" in kubectl.refused("get", "cm", "new", "-n", ns)


def test_diff_shows_what_an_apply_would_do(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, config_map("c", a="1", b="1"), "--field-manager=first")
    diff = ("diff", "--server-side", "-n", ns, "-f", "-")
    assert kubectl(*diff, "--field-manager=first", stdin=config_map("c", a="1", b="1")) == ""
    told = kubectl.run(*diff, "--field-manager=first", stdin=config_map("c", a="2"))
    assert told.returncode == 1, told.stderr
    assert {'-  a: "1"', '-  b: "1"', '+  a: "2"'} <= set(told.stdout.splitlines())
    told = kubectl.run(*diff, "--field-manager=second", stdin=config_map("c", a="2"))
    assert told.returncode > 1 and 'conflict with "first": .data.a' in told.stderr
    told = kubectl.run(
        *diff, "--field-manager=second", "--force-conflicts", stdin=config_map("c", a="2")
    )
    assert told.returncode == 1 and {'-  a: "1"', '+  a: "2"'} <= set(told.stdout.splitlines())
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"a": "1", "b": "1"}


def test_status_is_applied_through_its_subresource(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, nginx(replicas=1))
    status = {**nginx(), "status": {"replicas": 1, "readyReplicas": 1}}
    del status["spec"]
    kubectl(
        "apply",
        "--server-side",
        "--subresource=status",
        "--field-manager=reporter",
        "-n",
        ns,
        "-f",
        "-",
        stdin=status,
    )
    assert kubectl.get("deploy", "nginx-deployment", "-n", ns)["status"] == {
        "replicas": 1,
        "readyReplicas": 1,
    }
    entry = owners(kubectl, ns, "deploy", "nginx-deployment")["reporter", "Apply", "status"]
    assert entry == {"f:status": {"f:readyReplicas": {}, "f:replicas": {}}}


# --- from client-side apply -----------------------------------------------------------------------
def test_kubectl_migrates_what_client_side_apply_owned(kubectl: Kubectl, ns: str) -> None:
    kubectl("apply", "-n", ns, "-f", "-", stdin=config_map("c", a="1", b="1"))
    assert set(owners(kubectl, ns, "cm", "c")) == {("kubectl-client-side-apply", "Update", "")}
    apply(kubectl, ns, config_map("c", a="1", b="1"))
    found = owners(kubectl, ns, "cm", "c")
    assert set(found) == {("kubectl", "Apply", ""), ("kubectl-last-applied", "Apply", "")}
    assert found["kubectl", "Apply", ""] == names({"a": 0, "b": 0})
    apply(kubectl, ns, config_map("c", a="2"))
    read = kubectl.get("cm", "c", "-n", ns)
    assert read["data"] == {"a": "2"}, (
        "what is not in the manifest any more goes, as it would have under client-side apply"
    )
    assert json.loads(read["metadata"]["annotations"][MIGRATED])["data"] == {"a": "2"}, (
        "the server keeps it for those who go back"
    )
    assert (
        kubectl("apply", "-n", ns, "-f", "-", stdin=config_map("c", b="2"))
        == "configmap/c configured\n"
    )
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"b": "2"}


def test_fields_of_client_side_apply_do_not_conflict_with_kubectl_only(
    kubectl: Kubectl, ns: str
) -> None:
    kubectl("apply", "-n", ns, "-f", "-", stdin=config_map("c", a="1"))
    said = kubectl.refused(
        "apply",
        "--server-side",
        "--field-manager=other",
        "-n",
        ns,
        "-f",
        "-",
        stdin=config_map("c", a="2"),
    )
    assert 'conflict with "kubectl-client-side-apply" using v1: .data.a' in said
    apply(kubectl, ns, config_map("c", a="2"))
    assert kubectl.get("cm", "c", "-n", ns)["data"] == {"a": "2"}


# --- the handover of the documentation ------------------------------------------------------------
def nginx(**spec: Any) -> Object:
    """The Deployment of the documentation's example (reference/using-api/server-side-apply,
    transferring ownership)."""
    labels = {"app": "nginx"}
    containers = [{"name": "nginx", "image": "nginx:1.14.2"}]
    whole = {
        **spec,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx-deployment", "labels": labels},
        "spec": whole,
    }


def replicas_only(number: int) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx-deployment"},
        "spec": {"replicas": number},
    }


def autoscaler_sets(installation: Installation, ns: str, replicas: int) -> None:
    """What the HPA controller does: it reads the Scale and puts it back."""
    path = f"/apis/apps/v1/namespaces/{ns}/deployments/nginx-deployment/scale"
    status, scale = installation.request("GET", path)
    assert status == 200, scale
    scale["spec"]["replicas"] = replicas
    status, answer = installation.request("PUT", f"{path}?fieldManager={CONTROLLER}", scale)
    assert status == 200, answer


def test_replicas_are_handed_over_to_the_autoscaler(
    kubectl: Kubectl, installation: Installation, ns: str
) -> None:
    mine, temporary, scaler = (
        ("kubectl", "Apply", ""),
        ("handover-to-hpa", "Apply", ""),
        (CONTROLLER, "Update", "scale"),
    )
    replicas: Object = {"f:spec": {"f:replicas": {}}}
    deployment = ("deployment", "nginx-deployment")

    apply(kubectl, ns, nginx(replicas=3))
    kubectl("autoscale", *deployment, "--cpu-percent=50", "--min=1", "--max=10", "-n", ns)
    assert "f:replicas" in owners(kubectl, ns, *deployment)[mine]["f:spec"]

    apply(kubectl, ns, replicas_only(3), "--field-manager=handover-to-hpa", "--validate=false")
    assert owners(kubectl, ns, *deployment)[temporary] == replicas

    apply(kubectl, ns, nginx())
    found = owners(kubectl, ns, *deployment)
    assert found[temporary] == replicas and "f:replicas" not in found[mine]["f:spec"]
    assert kubectl.get(*deployment, "-n", ns)["spec"]["replicas"] == 3, (
        "somebody still owns it, so it does not fall back to 1"
    )

    autoscaler_sets(installation, ns, 5)
    found = owners(kubectl, ns, *deployment)
    assert set(found) == {mine, scaler} and found[scaler] == replicas
    apply(kubectl, ns, nginx())
    assert kubectl.get(*deployment, "-n", ns)["spec"]["replicas"] == 5


def test_the_handover_finds_out_that_the_autoscaler_was_first(
    kubectl: Kubectl, installation: Installation, ns: str
) -> None:
    apply(kubectl, ns, nginx(replicas=3))
    autoscaler_sets(installation, ns, 5)
    handover = (
        "apply",
        "--server-side",
        "--field-manager=handover-to-hpa",
        "--validate=false",
        "-n",
        ns,
        "-f",
        "-",
    )
    said = kubectl.refused(*handover, stdin=replicas_only(3))
    assert (
        f'conflict with "{CONTROLLER}" with subresource "scale" using apps/v1: .spec.replicas'
        in said
    )
    apply(kubectl, ns, nginx())
    assert kubectl.get("deployment", "nginx-deployment", "-n", ns)["spec"]["replicas"] == 5


def test_without_a_handover_replicas_fall_back_to_their_default(kubectl: Kubectl, ns: str) -> None:
    apply(kubectl, ns, nginx(replicas=3))
    apply(kubectl, ns, nginx())
    assert kubectl.get("deployment", "nginx-deployment", "-n", ns)["spec"]["replicas"] == 1


# --- real definitions -----------------------------------------------------------------------------
class Loader(yaml.CSafeLoader):
    """YAML 1.2 has no value type: "=" is a string (an operator of Alertmanager's matchers)."""


Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)


def definitions(project: Path) -> list[Object]:
    documents = [
        d
        for path in sorted(project.glob("*.yaml"))
        for d in yaml.load_all(path.read_text(), Loader)
    ]
    return [d for d in documents if d and d["kind"] == "CustomResourceDefinition"]


def listed(objects: list[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


@pytest.mark.skipif(not CRDS.is_dir(), reason="needs ../shared/crds")
@pytest.mark.parametrize("project", sorted(p.name for p in CRDS.glob("*")) if CRDS.is_dir() else [])
def test_real_definitions_are_applied_by_one_and_by_another(kubectl: Kubectl, project: str) -> None:
    wanted = definitions(CRDS / project)
    assert wanted
    manifest = listed(wanted)
    applying = ("apply", "--server-side", "-f", "-")
    for manager in ("one", "another"):
        said = kubectl(*applying, f"--field-manager={manager}", stdin=manifest)
        assert said.count("serverside-applied") == len(wanted)
    kubectl(
        "wait",
        "--for=condition=Established",
        "--timeout=240s",
        *(f"crd/{d['metadata']['name']}" for d in wanted),
    )
    before = {d["metadata"]["name"]: d for d in _crds(kubectl, wanted)}
    for definition in before.values():
        sets = {
            e["manager"]: e["fieldsV1"]
            for e in definition["metadata"]["managedFields"]
            if e["operation"] == "Apply"
        }
        assert sets["one"] == sets["another"] and "f:versions" in sets["one"]["f:spec"]
        assert definition["metadata"]["generation"] == 1

    kubectl(*applying, "--field-manager=one", stdin=manifest)
    assert {d["metadata"]["name"]: d for d in _crds(kubectl, wanted)} == before, (
        "nothing changed, so nothing was written"
    )

    changed = copy.deepcopy(wanted[0])
    changed["spec"]["names"]["listKind"] = "Changed"
    said = kubectl.refused(*applying, "--field-manager=third", stdin=changed)
    assert "Apply failed with 2 conflicts" in said and ".spec.names.listKind" in said
    assert '"another"' in said and '"one"' in said


def _crds(kubectl: Kubectl, wanted: list[Object]) -> list[Object]:
    found = json.loads(
        kubectl(
            "get",
            *(f"crd/{d['metadata']['name']}" for d in wanted),
            "--show-managed-fields",
            "-o",
            "json",
        )
    )
    items: list[Object] = found.get("items", [found])
    return items


@pytest.mark.skipif(not CRDS.is_dir(), reason="needs ../shared/crds")
def test_atomic_lists_of_a_route_have_an_owner_each(kubectl: Kubectl, ns: str) -> None:
    """Gateway API's lists of rules and of host names are atomic: each has one owner."""
    kubectl(
        "apply",
        "--server-side",
        "--field-manager=one",
        "-f",
        "-",
        stdin=listed(definitions(CRDS / "gateway-api")),
    )
    kubectl(
        "wait",
        "--for=condition=Established",
        "--timeout=240s",
        "crd/httproutes.gateway.networking.k8s.io",
    )
    version = "gateway.networking.k8s.io/v1"
    rules = [{"backendRefs": [{"name": "svc", "port": 8080}]}]
    route: Object = {
        "apiVersion": version,
        "kind": "HTTPRoute",
        "metadata": {"name": "r"},
        "spec": {"hostnames": ["a.example.com"]},
    }
    apply(kubectl, ns, route, "--field-manager=hosts")
    apply(kubectl, ns, {**route, "spec": {"rules": rules}}, "--field-manager=rules")
    found = owners(kubectl, ns, "httproute", "r")
    assert found["hosts", "Apply", ""] == {"f:spec": {"f:hostnames": {}}}
    assert found["rules", "Apply", ""] == {"f:spec": {"f:rules": {}}}
    other = {**route, "spec": {"rules": [{"backendRefs": [{"name": "other", "port": 80}]}]}}
    assert 'conflict with "rules": .spec.rules' in kubectl.refused(
        "apply", "--server-side", "--field-manager=hosts", "-n", ns, "-f", "-", stdin=other
    )
