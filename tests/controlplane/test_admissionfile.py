"""POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE: what it says, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from admission.plugins.eventratelimit import Limit
from admission.plugins.quota_limits import Limited
from admission.podsecurity.policy import Level, LevelVersion, Policy
from apiserver.meta.gvk import GroupResource
from controlplane import admissionfile, configfiles
from controlplane.errors import OperatorError

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
EVERYTHING = f"""{HEAD}
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults:
      enforce: baseline
      enforce-version: v1.30
      warn: restricted
    exemptions:
      usernames: [root]
      runtimeClasses: [vm]
      namespaces: [kube-system]
- name: EventRateLimit
  path: events.yaml
- name: PodNodeSelector
  configuration:
    podNodeSelectorPluginConfig:
      clusterDefaultNodeSelector: "a=b, c=d"
      ns: e=f
- name: PodTolerationRestriction
  configuration:
    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
    kind: Configuration
    default:
    - {{key: a, operator: Exists}}
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: pods
      matchContains: [requests.cpu]
      matchScopes:
      - {{scopeName: PriorityClass, operator: In, values: [high]}}
- name: ImagePolicyWebhook
  configuration:
    imagePolicy:
      kubeConfigFile: images.kubeconfig
      allowTTL: 50
"""
EVENTS = """
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits: [{type: Namespace, qps: 50, burst: 100, cacheSize: 2000}]
"""
IMAGES = """
clusters: [{name: c, cluster: {server: "https://images.example:8443/policy?x=1"}}]
contexts: [{name: x, context: {cluster: c}}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the file, with what the file names."""
    for name, text in (("events.yaml", EVENTS), ("images.kubeconfig", IMAGES)):
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE", str(tmp_path / "admission.yaml"))
    return tmp_path


def test_plugins_are_configured(folder: Path) -> None:
    (folder / "admission.yaml").write_text(EVERYTHING)
    found = admissionfile.read()
    security = found.pod_security
    assert security is not None
    assert security.defaults == Policy(
        LevelVersion(Level.BASELINE, 30),
        LevelVersion(Level.PRIVILEGED),
        LevelVersion(Level.RESTRICTED),
    )
    assert (security.users, security.runtime_classes) == ({"root"}, {"vm"})
    assert security.namespaces == {"kube-system"}
    assert found.event_limits == (Limit("Namespace", 50, 100),)
    assert found.node_selectors is not None
    assert found.node_selectors.default == {"a": "b", "c": "d"}
    assert found.node_selectors.whitelists == {"ns": {"e": "f"}}
    assert found.tolerations is not None
    assert found.tolerations.default == ({"key": "a", "operator": "Exists"},)
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    assert found.limited == (Limited(GroupResource("", "pods"), ("requests.cpu",), (scope,)),)
    assert found.images is not None
    assert found.images.backend.url == "https://images.example:8443/policy?x=1"
    assert (found.images.allow_ttl, found.images.deny_ttl) == (50, 30)


def test_without_a_file_nothing_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE", raising=False)
    found = admissionfile.read()
    assert (found.pod_security, found.event_limits, found.images) == (None, (), None)


def plugin(name: str, configuration: str) -> str:
    return f"{HEAD}- name: {name}\n  configuration: {configuration}\n"


SECURITY = "apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration"
QUOTA = "apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the document must be a mapping"),
        ("{", "admission.yaml is no YAML: "),
        ("a: b", "apiVersion must be apiserver.config.k8s.io/v1"),
        ("apiVersion: apiserver.config.k8s.io/v1", "kind must be AdmissionConfiguration"),
        (f"{HEAD[:-1]} x", "plugins must be a list"),
        (f"{HEAD}- name: PodSecurty", 'plugins[0].name "PodSecurty" is no admission plugin'),
        (f"{HEAD}- name: LimitRanger", 'plugins[0].name "LimitRanger" takes no configuration'),
        (
            f"{HEAD}- name: MutatingAdmissionWebhook",
            'plugins[0].name "MutatingAdmissionWebhook" takes no configuration',
        ),
        (
            f"{HEAD}- name: EventRateLimit\n  path: events.yaml\n"
            "- name: EventRateLimit\n  path: events.yaml",
            'plugins[1].name "EventRateLimit" is there twice',
        ),
        (
            f"{HEAD}- name: EventRateLimit\n  path: none.yaml",
            "EventRateLimit: none.yaml: none.yaml cannot be read: No such file or directory",
        ),
        (f"{HEAD}- name: PodSecurity\n  config: {{}}", "PodSecurity: apiVersion must be "),
        (
            plugin("PodSecurity", f"{{{SECURITY}, defaults: {{enforce: strict}}}}"),
            "PodSecurity: defaults.enforce must be one of privileged, baseline, restricted",
        ),
        (
            plugin("PodSecurity", f"{{{SECURITY}, defaults: {{warn-version: '1.30'}}}}"),
            'PodSecurity: defaults.warn-version must be "latest" or "v1.x"',
        ),
        (
            plugin("PodSecurity", f"{{{SECURITY}, exemptions: {{namespaces: [A]}}}}"),
            'PodSecurity: exemptions.namespaces has "A": a lowercase RFC 1123 label must consist',
        ),
        (
            plugin("PodSecurity", f"{{{SECURITY}, exemptions: {{usernames: [a, a]}}}}"),
            "PodSecurity: exemptions.usernames names one twice",
        ),
        (
            plugin("PodSecurity", f"{{{SECURITY}, exemptions: {{users: [a]}}}}"),
            "PodSecurity: exemptions.users is no field of this configuration",
        ),
        (
            plugin("PodNodeSelector", "{podNodeSelectorPluginConfig: {ns: a}}"),
            "PodNodeSelector: podNodeSelectorPluginConfig.ns is no selector: invalid selector: [a]",
        ),
        (
            plugin("ResourceQuota", f"{{{QUOTA}, limitedResources: [{{apiGroup: apps}}]}}"),
            "ResourceQuota: limitedResources[0].resource must be set",
        ),
        (
            plugin("ImagePolicyWebhook", "{imagePolicy: {}}"),
            "ImagePolicyWebhook: imagePolicy.kubeConfigFile must be set",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(folder: Path, text: str, problem: str) -> None:
    (folder / "admission.yaml").write_text(text)
    with pytest.raises(OperatorError) as refused:
        admissionfile.check()
    assert refused.value.problem.startswith(f"{admissionfile.NAME}={folder}/admission.yaml: ")
    assert problem in refused.value.problem
    assert "\n" not in refused.value.problem


def test_a_large_file_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configfiles, "LARGEST", 10)
    (folder / "admission.yaml").write_text(EVERYTHING)
    with pytest.raises(OperatorError, match="has more than 10 bytes"):
        admissionfile.read()


@pytest.mark.parametrize("name", ["EventRateLimit", "ImagePolicyWebhook"])
def test_what_needs_a_configuration_is_not_enabled_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYPLANE_ENABLE_ADMISSION_PLUGINS", name)
    with pytest.raises(OperatorError, match=f"{name} is enabled and has no configuration"):
        admissionfile.check()
