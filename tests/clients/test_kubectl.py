"""What people do with kubectl, done with the real kubectl against a real installation of two
workers."""

from __future__ import annotations

import itertools
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import NEEDS_KUBECTL, Kubectl, config_map
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.slow, NEEDS_KUBECTL]


# What a real cluster refuses too, when each folder is applied to a namespace of its own, in the
# order of the names.
REFUSED = {
    "doc-yaml/admin/high-availability/kube-scheduler.yaml": (
        'volumeMounts[1].name: Not found: "default-token-s8ejd"'
    ),
    # gce.yaml has taken the name:
    "doc-yaml/user-guide/persistent-volumes/volumes/nfs.yaml": (
        "spec.persistentvolumesource is immutable after creation"
    ),
    # These two are no Kubernetes objects:
    "doc-yaml/user-guide/update-demo/images/kitten/html/data.json": (
        "apiVersion not set, kind not set"
    ),
    "doc-yaml/user-guide/update-demo/images/nautilus/html/data.json": (
        "apiVersion not set, kind not set"
    ),
}


@pytest.mark.shared
def test_all_manifests_apply_describe_label_and_go(kubectl: Kubectl, shared: Path) -> None:
    root = shared / "manifests"
    folders: dict[Path, list[str]] = {}
    for file in sorted(f for f in root.rglob("*") if f.suffix in (".yaml", ".json")):
        folders.setdefault(file.parent, []).append(str(file.relative_to(root)))
    names = {folder: str(folder.relative_to(root)).replace("/", "-") for folder in folders}
    assert names
    kubectl.make_namespaces(*names.values())
    for folder, files in folders.items():
        here = f"--namespace={names[folder]}"
        refused = kubectl.run("apply", here, *(f"--filename={root / f}" for f in files)).stderr
        good = [f for f in files if f not in REFUSED]
        assert all(REFUSED[f] in refused for f in set(files) - set(good)), refused
        if not good:
            continue
        applied = [here, *(f"--filename={root / f}" for f in good)]
        again = kubectl("apply", *applied).splitlines()
        assert len(again) >= len(good) and all(
            line.endswith((" unchanged", " configured")) for line in again
        ), f"{refused}\n{again}"
        assert kubectl("describe", *applied).count("Name:") >= len(good)
        assert kubectl("label", "seen=yes", *applied).count(" labeled") == len(again)
        assert kubectl("annotate", "note=a b", *applied).count(" annotated") == len(again)
        assert kubectl("get", "-o", "wide", *applied).count("NAME") >= 1
        assert kubectl("delete", "--wait=false", *applied).count(" deleted") == len(again)
    kubectl("delete", "ns", "--wait=false", *names.values())


@pytest.mark.shared
def test_manifests_that_collide_or_lack_a_limit_are_refused(
    kubectl: Kubectl, ns: str, shared: Path
) -> None:
    root = shared / "manifests/doc-yaml"
    kubectl("apply", "-n", ns, "-f", str(root / "admin/limitrange/limits.yaml"))
    kubectl(
        "apply", "-n", ns, "-f", str(root / "admin/resourcequota/limits.yaml")
    )  # its defaults are below the other's minimum
    assert "maximum cpu usage per" in kubectl.refused(
        "apply", "-n", ns, "-f", str(root / "admin/limitrange/invalid-pod.yaml")
    )
    assert "minimum cpu usage per Pod is 200m" in kubectl.refused(
        "apply", "-n", ns, "-f", str(root / "user-guide/pod.yaml")
    )
    kubectl("apply", "-n", ns, "-f", str(root / "admin/limitrange/valid-pod.yaml"))
    changed = kubectl.refused("apply", "-n", ns, "-f", str(root / "user-guide/multi-pod.yaml"))
    assert "pod updates may not change fields other than" in changed


def test_get_prints_the_columns_of_a_kube_apiserver(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", "-n", ns)
    header, row = (
        line.split()
        for line in kubectl("get", "deploy", "web", "-o", "wide", "-n", ns).splitlines()
    )
    assert header == [
        "NAME",
        "READY",
        "UP-TO-DATE",
        "AVAILABLE",
        "AGE",
        "CONTAINERS",
        "IMAGES",
        "SELECTOR",
    ]
    assert row[:4] == ["web", "0/3", "0", "0"] and row[5:] == ["nginx", "nginx", "app=web"]
    assert kubectl("get", "deploy", "-n", ns, "-o", "name") == "deployment.apps/web\n"
    assert kubectl("get", "deploy", "-n", ns, "-o", "jsonpath={.items[*].spec.replicas}") == "3"
    assert kubectl(
        "get", "deploy", "-n", ns, "-o", "custom-columns=N:.metadata.name,R:.spec.replicas"
    ).split() == ["N", "R", "web", "3"]
    assert kubectl.run("get", "pods", "-n", ns).stderr == f"No resources found in {ns} namespace.\n"
    assert 'deployments.apps "none" not found' in kubectl.refused("get", "deploy", "none", "-n", ns)


def test_describe_shows_the_object(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx:1.27", "-n", ns)
    said = kubectl("describe", "deploy", "web", "-n", ns)
    assert re.search(r"^StrategyType:\s+RollingUpdate$", said, re.M)
    assert re.search(r"Image:\s+nginx:1.27", said)


def test_label_annotate_and_selectors(kubectl: Kubectl, ns: str) -> None:
    for name in ("a", "b"):
        kubectl("create", "cm", name, "-n", ns)
    assert kubectl("label", "cm", "a", "tier=front", "-n", ns) == "configmap/a labeled\n"
    assert "already has a value (front), and --overwrite is false" in kubectl.refused(
        "label", "cm", "a", "tier=back", "-n", ns
    )
    kubectl("label", "cm", "a", "tier=back", "--overwrite", "-n", ns)
    assert kubectl("get", "cm", "-l", "tier in (back)", "-o", "name", "-n", ns) == "configmap/a\n"
    assert "configmap/b" in kubectl("get", "cm", "-l", "!tier", "-o", "name", "-n", ns)
    assert (
        kubectl("get", "cm", "--field-selector=metadata.name=b", "-o", "name", "-n", ns)
        == "configmap/b\n"
    )
    kubectl("label", "cm", "a", "tier-", "-n", ns)
    kubectl("annotate", "cm", "a", "why=for a test", "-n", ns)
    metadata = kubectl.get("cm", "a", "-n", ns)["metadata"]
    assert "labels" not in metadata and metadata["annotations"] == {"why": "for a test"}
    assert "must be an empty string or consist of alphanumeric characters" in kubectl.refused(
        "label", "cm", "a", "x=-", "-n", ns
    )


def test_edit_saves_what_the_editor_wrote(kubectl: Kubectl, ns: str) -> None:
    kubectl("apply", "-n", ns, "-f", "-", stdin=config_map("edited", colour="red"))
    assert (
        kubectl("edit", "cm", "edited", "-n", ns, KUBE_EDITOR="sed -i s/red/blue/")
        == "configmap/edited edited\n"
    )
    assert kubectl.get("cm", "edited", "-n", ns)["data"] == {"colour": "blue"}
    assert (
        "Edit cancelled, no changes made."
        in kubectl.run("edit", "cm", "edited", "-n", ns, KUBE_EDITOR="true").stderr
    )
    kubectl("create", "deployment", "web", "--image=nginx", "-n", ns)
    kubectl("edit", "deploy", "web", "-n", ns, KUBE_EDITOR="sed -i 's/image: nginx/image: httpd/'")
    assert (
        kubectl.get("deploy", "web", "-n", ns)["spec"]["template"]["spec"]["containers"][0]["image"]
        == "httpd"
    )


def test_patch_in_three_ways(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "-n", ns)
    patch = ("patch", "deploy", "web", "-n", ns)
    container = '{"spec":{"template":{"spec":{"containers":[{"name":"%s","image":"%s"}]}}}}'
    kubectl(*patch, "-p", container % ("side", "busybox"))  # strategic: merged by name
    assert [c["name"] for c in _containers(kubectl, ns)] == ["side", "nginx"]
    replace = (
        '[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas",'
        '"value":2}]'
    )
    kubectl(*patch, "--type=json", "-p", replace)
    assert kubectl.get("deploy", "web", "-n", ns)["spec"]["replicas"] == 2
    assert kubectl.run(*patch, "--type=json", "-p", replace).returncode != 0, (
        "the test operation fails now"
    )
    kubectl(
        *patch, "--type=merge", "-p", container % ("only", "httpd")
    )  # merge: lists are replaced
    assert [c["name"] for c in _containers(kubectl, ns)] == ["only"]
    assert (
        kubectl(*patch, "--type=merge", "-p", container % ("only", "httpd"))
        == "deployment.apps/web patched (no change)\n"
    )
    kubectl(
        *patch,
        "--subresource=status",
        "--type=merge",
        "-p",
        '{"status":{"replicas":2,"readyReplicas":1}}',
    )
    assert kubectl.get("deploy", "web", "-n", ns)["status"]["readyReplicas"] == 1


def _containers(kubectl: Kubectl, ns: str) -> list[dict[str, Any]]:
    containers: list[dict[str, Any]] = kubectl.get("deploy", "web", "-n", ns)["spec"]["template"][
        "spec"
    ]["containers"]
    return containers


def test_replace_wants_the_version_that_was_read(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "-n", ns, "-f", "-", stdin=config_map("r", v="1"))
    read = kubectl.get("cm", "r", "-n", ns)
    read["data"]["v"] = "2"
    assert kubectl("replace", "-f", "-", stdin=read) == "configmap/r replaced\n"
    assert (
        "the object has been modified; please apply your changes to the latest version"
        in kubectl.refused("replace", "-f", "-", stdin=read)
    )
    assert (
        kubectl("replace", "-n", ns, "-f", "-", stdin=config_map("r", v="3"))
        == "configmap/r replaced\n"
    )
    assert "replaced" in kubectl(
        "replace", "--force", "-n", ns, "-f", "-", stdin=config_map("r", v="4")
    )
    assert kubectl.get("cm", "r", "-n", ns)["metadata"]["uid"] != read["metadata"]["uid"]


def test_apply_merges_three_ways_and_diff_tells_before(kubectl: Kubectl, ns: str) -> None:
    kubectl("apply", "-n", ns, "-f", "-", stdin=config_map("a", kept="1", dropped="1"))
    kubectl("patch", "cm", "a", "-n", ns, "--type=merge", "-p", '{"data":{"other":"x"}}')
    new = config_map("a", kept="2")
    told = kubectl.run("diff", "-n", ns, "-f", "-", stdin=new)
    assert told.returncode == 1, told.stderr
    assert {'-  dropped: "1"', '-  kept: "1"', '+  kept: "2"'} <= set(told.stdout.splitlines())
    assert kubectl("apply", "-n", ns, "-f", "-", stdin=new) == "configmap/a configured\n"
    assert kubectl.get("cm", "a", "-n", ns)["data"] == {"kept": "2", "other": "x"}
    assert kubectl("apply", "-n", ns, "-f", "-", stdin=new) == "configmap/a unchanged\n"
    assert kubectl("diff", "-n", ns, "-f", "-", stdin=new) == ""


def test_watch_sees_what_happens(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "cm", "before", "-n", ns)
    with kubectl.watch(
        "cm", "-n", ns, "--output-watch-events", "--field-selector=metadata.name!=kube-root-ca.crt"
    ) as watching:
        assert watching.line().split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert watching.line().split()[:3] == ["ADDED", "before", "0"]
        kubectl("create", "cm", "w", "-n", ns, "--from-literal=a=1")
        assert watching.line().split()[:3] == ["ADDED", "w", "1"]
        kubectl("patch", "cm", "w", "-n", ns, "--type=merge", "-p", '{"data":{"b":"2"}}')
        assert watching.line().split()[:3] == ["MODIFIED", "w", "2"]
        kubectl("delete", "cm", "w", "-n", ns)
        assert watching.line().split()[:3] == ["DELETED", "w", "2"]


def test_wait_ends_when_the_condition_holds(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "cm", "slow", "-n", ns, "--from-literal=state=begun")
    waiting = subprocess.Popen(
        kubectl.command(
            "wait", "cm/slow", "-n", ns, "--for=jsonpath={.data.state}=done", "--timeout=240s"
        ),
        env=kubectl.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(0.5)
    assert waiting.poll() is None
    kubectl("patch", "cm", "slow", "-n", ns, "--type=merge", "-p", '{"data":{"state":"done"}}')
    assert waiting.communicate(timeout=PATIENCE)[0] == "configmap/slow condition met\n"
    assert "timed out waiting for the condition" in kubectl.refused(
        "wait", "cm/slow", "-n", ns, "--for=delete", "--timeout=1s"
    )


def test_scale_and_rollout(kubectl: Kubectl, ns: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "-n", ns)
    assert (
        kubectl("scale", "deploy/web", "--replicas=4", "-n", ns) == "deployment.apps/web scaled\n"
    )
    wrong = kubectl.refused("scale", "deploy/web", "--current-replicas=1", "--replicas=2", "-n", ns)
    assert "xpected replicas to be 1, was 4" in wrong
    kubectl("set", "image", "deploy/web", "nginx=nginx:1.27", "-n", ns)
    kubectl("rollout", "restart", "deploy/web", "-n", ns)
    found = kubectl.get("deploy", "web", "-n", ns)
    assert found["spec"]["replicas"] == 4
    assert (
        "kubectl.kubernetes.io/restartedAt" in found["spec"]["template"]["metadata"]["annotations"]
    )
    assert found["metadata"]["generation"] == 4
    kubectl("autoscale", "deploy/web", "--min=1", "--max=5", "-n", ns)
    assert kubectl.get("hpa", "web", "-n", ns)["spec"]["maxReplicas"] == 5


def test_explain_reads_the_published_schema(kubectl: Kubectl) -> None:
    said = kubectl("explain", "deployment.spec.strategy")
    assert "FIELD: strategy <DeploymentStrategy>" in said
    assert "rollingUpdate\t<RollingUpdateDeployment>" in said
    assert "maxSurge" in kubectl("explain", "deployment.spec.strategy", "--recursive")
    assert 'field "nothing" does not exist' in kubectl.refused("explain", "deployment.spec.nothing")


def test_unknown_fields_are_refused_warned_of_or_ignored(kubectl: Kubectl, ns: str) -> None:
    typo = {**config_map("typo"), "dat": {"a": "b"}}
    for verb in ("create", "apply"):
        assert 'unknown field "dat"' in kubectl.refused(
            verb, "--validate=strict", "-n", ns, "-f", "-", stdin=typo
        )
    warned = kubectl.run("create", "--validate=warn", "-n", ns, "-f", "-", stdin=typo)
    assert warned.returncode == 0 and 'Warning: unknown field "dat"' in warned.stderr
    ignored = kubectl.run("apply", "--validate=ignore", "-n", ns, "-f", "-", stdin=typo)
    assert ignored.returncode == 0 and "unknown" not in ignored.stderr
    wrong = {**config_map("wrong"), "data": {"a": 1}}
    assert "ConfigMap in version" in kubectl.refused("create", "-n", ns, "-f", "-", stdin=wrong)


def test_api_resources_and_versions(kubectl: Kubectl) -> None:
    rows = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert ["namespaces", "ns", "v1", "false", "Namespace"] in rows
    assert "pods" not in kubectl("api-resources", "--namespaced=false", "-o", "name").split()
    assert {"v1", "apps/v1", "rbac.authorization.k8s.io/v1"} <= set(kubectl("api-versions").split())
    assert re.search(r"Server Version: v1\.36\.\d+\+polyplane-", kubectl("version"))


def test_dry_run_writes_nothing(kubectl: Kubectl, ns: str) -> None:
    assert (
        kubectl("create", "cm", "dry", "-n", ns, "--dry-run=server")
        == "configmap/dry created (server dry run)\n"
    )
    assert "dry" not in kubectl.config_maps(ns)


def test_auth_can_i_and_whoami(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "*", "*") == "yes\n"
    assert kubectl.run("auth", "can-i", "get", "pods", "--as=ann").stdout == "no\n"
    assert "system:masters" in kubectl("auth", "whoami")


def test_two_contexts_see_different_worlds(kubectl: Kubectl, ns: str) -> None:
    demo = kubectl.at("demo")
    kubectl("create", "cm", "here", "-n", ns, "--from-literal=world=default")
    assert f'namespaces "{ns}" not found' in demo.refused("get", "ns", ns)
    assert 'namespaces "shop" not found' in kubectl.refused("get", "ns", "shop")
    demo("create", "ns", ns)
    with demo.watch("cm", "-n", ns, "-o", "name") as watching:
        kubectl("create", "cm", "unseen", "-n", ns)
        demo("create", "cm", "seen", "-n", ns)
        names = itertools.takewhile(
            lambda line: line != "configmap/seen", iter(watching.line, None)
        )
        assert "configmap/unseen" not in list(names)
    assert "here" not in demo.config_maps(ns) and "seen" in demo.config_maps(ns)
    demo("delete", "ns", ns, "--timeout=240s")
    assert kubectl.config_maps(ns) == {"here", "unseen"}
