"""Libraries of admission policies that public projects keep, with the test cases of theirs: read
from checkouts of

* kubescape/cel-admission-library: ``controls/*/policy.yaml`` and ``tests.json``, whose cases
  change members of objects in ``test-resources``;
* vap-library/vap-library: ``policies/*/*.yaml`` and ``policy_test.go``, of which the objects, their
  namespaces and what is expected of each are read;
* kolteq/validating-admission-policies-pss: ``policies/**/policy.yaml`` with bindings, and
  ``test.yaml``, a pod that must be refused.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from apiserver.meta.objects import Object

POLICY = "ValidatingAdmissionPolicy"


@dataclass(frozen=True, slots=True)
class Case:
    """``expected``: pass, warn, fail, or one of the first and last said of the ephemeral containers
    that ``body`` gives to the pod it names."""

    name: str
    namespace: str
    body: Object
    expected: str
    ephemeral: bool = False


@dataclass(slots=True)
class Suite:
    """``objects``: what is there before, in this order. ``dry``: the project tries its cases
    without storing them. ``named``: a refusal must
    name the policy; else that the object is not valid will do as well, which is found first."""

    name: str
    objects: list[Object]
    cases: list[Case] = field(default_factory=list)
    dry: bool = False
    named: bool = True

    @property
    def policies(self) -> list[str]:
        return [o["metadata"]["name"] for o in self.objects if o["kind"] == POLICY]


def suites(root: Path) -> Iterator[Suite]:
    for path in sorted(root.glob("controls/*/tests.json")):
        yield from _kubescape(root, path)
    for path in sorted(root.glob("policies/*/policy_test.go")):
        yield _vap_library(root, path)
    if not any(root.glob("policies/*/policy_test.go")):
        for path in sorted(root.glob("policies/**/test.yaml")):
            yield _kolteq(path)


def _documents(path: Path) -> list[Any]:
    return [d for d in yaml.safe_load_all(path.read_text()) if d]


def _namespace(name: str, labels: dict[str, str] | None = None) -> Object:
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


# --- kubescape ------------------------------------------------------------------------------------
def _kubescape(root: Path, path: Path) -> Iterator[Suite]:
    """One for each pair of binding and parameters."""
    found: dict[tuple[str, str], Suite] = {}
    (policy,) = _documents(path.parent / "policy.yaml")
    resources = root / "test-resources"
    for case in json.loads(path.read_text()):
        binding = case.get("binding_template", "policy-binding.yaml")
        param = case.get("param_template", "default-control-configuration.yaml")
        suite = found.get((binding, param))
        if suite is None:
            objects = _documents(root / "configuration/policy-configuration-definition.yaml")
            objects += [_namespace(name) for name in ("default", "test-namespace")]
            objects += _bound(
                copy.deepcopy(policy),
                *_documents(resources / param),
                *_documents(resources / binding),
            )
            name = f"{path.parent.name} {binding} {param}"
            suite = found[binding, param] = Suite(name, objects, dry=True)
        (body,) = _documents(resources / case["template"])
        for change in case.get("field_change_list", ()):
            _set(body, *change.split("="))
        namespace = body["metadata"].get("namespace", "default")
        suite.cases.append(Case(case["name"], namespace, body, case["expected"]))
    yield from found.values()


def _bound(policy: Object, param: Object, binding: Object) -> list[Object]:
    name = policy["metadata"]["name"]
    param["metadata"]["name"] = f"{name}-params"
    binding["metadata"]["name"] = f"{name}-binding"
    binding["spec"]["policyName"] = name
    binding["spec"]["paramRef"]["name"] = f"{name}-params"
    return [param, policy, binding]


def _set(root: Any, path: str, text: str) -> None:
    """``spec.containers.[0].image``: members and lists on the way are made."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    names: list[Any] = [int(n[1:-1]) if n[:1] == "[" else n for n in path.split(".")]
    for name, following in zip(names, [*names[1:], None], strict=True):
        if isinstance(root, list):
            root.extend([None] * (name + 1 - len(root)))
        found = root[name] if isinstance(root, list) else root.get(name)
        if following is None:
            root[name] = value
        elif found is None:
            root[name] = [] if isinstance(following, int) else {}
        root = root[name]


# --- vap-library ----------------------------------------------------------------------------------
_TEXT = re.compile(r"^var (\w+)(?: string)? = `(.*?)`", re.M | re.S)
_TEST = re.compile(r"^func (Test(?!Main)\w+)\(.*?^}", re.M | re.S)
_BLOCK = re.compile(r"\b(Setup|Assess)\((.*?)(?=\b(?:Setup|Assess|Test)\(|\Z)", re.S)
_MADE = re.compile(
    r"(?:ApplyK8sResourceFromYAML\(ctx, cfg, |patchData := \[\]byte\()"
    r"(?:fmt\.Sprintf\((\w+)((?:, [^,()]+)*)\)|(\w+))\).*?if err (==|!=) nil",
    re.S,
)


def _vap_library(root: Path, path: Path) -> Suite:
    source, name = path.read_text(), path.parent.name
    texts = dict(_TEXT.findall(source))
    objects = [o for p in sorted(path.parent.glob("*.yaml")) for o in _documents(p)]
    for directory in re.findall(r'"\.\./\.\./(vendoring/[^"]+)"', source):
        objects += [o for p in sorted((root / directory).glob("*.yaml")) for o in _documents(p)]
    params = f'map[string]bool{{"{name}": true}}' in source
    suite = Suite(name, [*objects, _vap_binding(name, params)], named=False)
    for number, test in enumerate(_TEST.finditer(source)):
        namespace = f"{name}-{number}"
        suite.objects.append(_namespace(namespace, {f"vap-library.com/{name}": "deny"}))
        for step in _BLOCK.findall(test.group()):
            suite.cases += _vap_cases(step[1], texts, f"{test.group(1)} {step[0]}", namespace)
    return suite


def _vap_binding(name: str, params: bool) -> Object:
    selector = {"matchLabels": {f"vap-library.com/{name}": "deny"}}
    spec: Object = {
        "policyName": f"{name}.vap-library.com",
        "validationActions": ["Deny", "Audit"],
        "matchResources": {"namespaceSelector": selector, "objectSelector": {}},
    }
    if params:
        spec["paramRef"] = {
            "name": f"{name}.vap-library.com",
            "parameterNotFoundAction": "Deny",
        }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{POLICY}Binding",
        "metadata": {"name": f"{name}-deny.vap-library.com"},
        "spec": spec,
    }


def _vap_cases(block: str, texts: dict[str, str], name: str, namespace: str) -> Iterator[Case]:
    said = re.match(r'"([^"]*)"', block)
    for made in _MADE.finditer(block):
        text = texts[made.group(1) or made.group(3)]
        for argument in (made.group(2) or "").split(", ")[1:]:
            given = {"namespace": namespace, **texts}.get(argument, argument.strip('"'))
            text = text.replace("%s", given, 1)
        body = yaml.safe_load(text)
        ephemeral = made.group().startswith("patchData")
        if ephemeral:
            (pod,) = re.findall(r'Get\(ctx, "([^"]+)", namespace', block)
            body["metadata"] = {"name": pod}
            body |= {"apiVersion": "v1", "kind": "Pod"}
        expected = "pass" if made.group(4) == "!=" else "fail"
        label = f"{name} {said.group(1) if said else ''}"
        yield Case(label, namespace, body, expected, ephemeral)


# --- kolteq ---------------------------------------------------------------------------------------
def _kolteq(path: Path) -> Suite:
    directory = path.parent
    group = "pss.security.kolteq.com"
    labels = {f"{group}/{mode}": "restricted" for mode in ("enforce", "warn")}
    objects = [_namespace("policy-test", labels)]
    objects += [*_documents(directory / "policy.yaml"), *_documents(directory / "binding.yaml")]
    suite = Suite("/".join(directory.parts[-2:]), objects, named=False)
    (pod,) = _documents(path)
    custom = directory / "test-kubectl-debug-custom.yaml"
    if not custom.exists():
        suite.cases.append(Case("refused", "policy-test", pod, "fail"))
        return suite
    debugger = {"name": "debugger", "image": "busybox:1.36", **_documents(custom)[0]}
    patch = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod["metadata"]["name"]}}
    patch["spec"] = {"ephemeralContainers": [debugger]}
    suite.cases.append(Case("a pod to debug", "policy-test", copy.deepcopy(pod), "pass"))
    suite.cases.append(Case("refused", "policy-test", patch, "fail", ephemeral=True))
    return suite
