"""The rules of the migration guide, each on a manifest that needs it."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupVersion
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import decode
from controlplane.convert.manifests import ManifestError, check, convert, kind_of, read, write
from controlplane.convert.removals import removals


def converted(text: str, output: str = "") -> tuple[Any, str]:
    (document,) = read(text)
    obj, notes = convert(document, GroupVersion.parse(output) if output else None)
    return obj, "\n".join(notes)


def strict_errors(obj: Any) -> list[str]:
    gvk = kind_of(obj)
    assert gvk is not None
    return decode(schema_for(gvk), obj).strict


def test_every_replacement_is_a_served_kind() -> None:
    assert removals()
    served = {r.gvk(v) for r in catalog.resources().values() for v in r.versions}
    for removal in removals().values():
        assert removal.source not in served
        assert removal.replacement is None or removal.replacement in served, removal.source


def test_every_removal_converts_the_smallest_object() -> None:
    assert removals()
    for removal in removals().values():
        document = {
            "apiVersion": removal.source.api_version,
            "kind": removal.source.kind,
            "metadata": {"name": "x"},
        }
        if removal.replacement is None:
            with pytest.raises(ManifestError, match="nothing replaces it"):
                convert(document, None)
        else:
            assert convert(document, None)[0]["apiVersion"] == removal.replacement.api_version


def test_ingress() -> None:
    obj, notes = converted("""
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: web}
spec:
  backend: {serviceName: fallback, servicePort: http}
  rules:
  - host: a.example.com
    http:
      paths:
      - path: /
        backend: {serviceName: web, servicePort: 80}
      - path: /x
        pathType: Exact
        backend: {resource: {kind: Bucket, name: b}}
""")
    assert obj["apiVersion"] == "networking.k8s.io/v1"
    assert obj["spec"]["defaultBackend"] == {
        "service": {"name": "fallback", "port": {"name": "http"}}
    }
    first, second = obj["spec"]["rules"][0]["http"]["paths"]
    assert first["backend"] == {"service": {"name": "web", "port": {"number": 80}}}
    assert (first["pathType"], second["pathType"]) == ("ImplementationSpecific", "Exact")
    assert second["backend"] == {"resource": {"kind": "Bucket", "name": "b"}}
    assert "pathType" in notes and not strict_errors(obj)


def test_deployment_keeps_what_it_relied_on() -> None:
    obj, _ = converted("""
apiVersion: extensions/v1beta1
kind: Deployment
metadata: {name: d}
spec:
  rollbackTo: {revision: 3}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i}]}}
""")
    spec = obj["spec"]
    assert spec["selector"] == {"matchLabels": {"app": "d"}}
    assert spec["progressDeadlineSeconds"] == spec["revisionHistoryLimit"] == 2147483647
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 1}
    assert "rollbackTo" not in spec and not strict_errors(obj)


def test_deployment_of_a_later_beta_changes_less() -> None:
    text = (
        "apiVersion: apps/%s\nkind: Deployment\nspec: {selector: {matchLabels: {a: b}}, "
        "template: {}}"
    )
    assert converted(text % "v1beta1")[0]["spec"]["revisionHistoryLimit"] == 2
    assert "revisionHistoryLimit" not in converted(text % "v1beta2")[0]["spec"]


@pytest.mark.parametrize(
    ("version", "expected"), [("v1beta1", {"type": "OnDelete"}), ("v1beta2", None)]
)
def test_stateful_set_update_strategy(version: str, expected: Any) -> None:
    obj, _ = converted(
        f"apiVersion: apps/{version}\nkind: StatefulSet\nspec: "
        f"{{template: {{metadata: {{labels: {{a: b}}}}}}}}"
    )
    assert obj["spec"].get("updateStrategy") == expected


def test_autoscaler_metrics() -> None:
    obj, _ = converted("""
apiVersion: autoscaling/v2beta1
kind: HorizontalPodAutoscaler
metadata: {name: h}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}
  maxReplicas: 3
  metrics:
  - {type: Resource, resource: {name: cpu, targetAverageUtilization: 80}}
  - {type: Pods, pods: {metricName: rps, selector: {matchLabels: {a: b}}, targetAverageValue: 5}}
  - type: Object
    object: {metricName: hits, targetValue: 10, target: {apiVersion: v1, kind: Service, name: s}}
  - type: External
    external: {metricName: queue, metricSelector: {matchLabels: {q: x}}, targetValue: 30}
""")
    resource, pods, of_object, external = obj["spec"]["metrics"]
    assert resource["resource"] == {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80},
    }
    assert pods["pods"]["metric"] == {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}
    assert pods["pods"]["target"] == {"type": "AverageValue", "averageValue": 5}
    assert of_object["object"]["describedObject"] == {
        "apiVersion": "v1",
        "kind": "Service",
        "name": "s",
    }
    assert of_object["object"]["target"] == {"type": "Value", "value": 10}
    assert external["external"]["metric"]["selector"] == {"matchLabels": {"q": "x"}}


def test_webhooks_keep_old_defaults_but_side_effects_must_be_decided() -> None:
    obj, notes = converted("""
apiVersion: admissionregistration.k8s.io/v1beta1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks:
- {name: a.example.com, clientConfig: {url: "https://x"}}
- {name: b.example.com, clientConfig: {url: "https://x"}, sideEffects: None, timeoutSeconds: 5}
""")
    first, second = obj["webhooks"]
    assert (first["failurePolicy"], first["matchPolicy"], first["timeoutSeconds"]) == (
        "Ignore",
        "Exact",
        30,
    )
    assert first["admissionReviewVersions"] == ["v1beta1"] and "sideEffects" not in first
    assert (second["sideEffects"], second["timeoutSeconds"]) == ("None", 5)
    assert "webhooks[0].sideEffects" in notes and "webhooks[1].sideEffects" not in notes


def test_custom_resource_definition() -> None:
    obj, _ = converted("""
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  version: v1
  names: {plural: foos, kind: Foo}
  validation: {openAPIV3Schema: {properties: {spec: {type: object}}}}
  subresources: {status: {}}
  additionalPrinterColumns: [{name: Size, type: string, JSONPath: .spec.size}]
  conversion:
    strategy: Webhook
    webhookClientConfig: {url: "https://x"}
    conversionReviewVersions: [v1]
""")
    spec = obj["spec"]
    (version,) = spec["versions"]
    assert (version["name"], version["served"], version["storage"], spec["scope"]) == (
        "v1",
        True,
        True,
        "Namespaced",
    )
    assert version["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] is True
    assert version["schema"]["openAPIV3Schema"]["type"] == "object"
    assert version["subresources"] == {"status": {}}
    assert version["additionalPrinterColumns"] == [
        {"name": "Size", "type": "string", "jsonPath": ".spec.size"}
    ]
    assert spec["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
    }
    assert not {"version", "validation", "subresources", "preserveUnknownFields"} & set(spec)


def test_event() -> None:
    obj, notes = converted("""
apiVersion: events.k8s.io/v1beta1
kind: Event
metadata: {name: e}
regarding: {kind: Pod, name: p}
reason: Started
type: Normal
deprecatedSource: {component: kubelet, host: n1}
deprecatedFirstTimestamp: 2020-01-01T00:00:00Z
deprecatedLastTimestamp: 2020-01-01T00:01:00Z
deprecatedCount: 4
""")
    assert obj["eventTime"] == "2020-01-01T00:00:00.000000Z"
    assert obj["series"] == {"count": 4, "lastObservedTime": "2020-01-01T00:01:00.000000Z"}
    assert (obj["reportingController"], obj["reportingInstance"]) == ("kubelet", "n1")
    assert not [name for name in obj if name.startswith("deprecated")]
    assert "action: required" in notes


def test_smaller_changes() -> None:
    pdb, _ = converted(
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nspec: {selector: {}, minAvailable: "
        "1}"
    )
    assert pdb["spec"] == {"minAvailable": 1}
    level = (
        "apiVersion: flowcontrol.apiserver.k8s.io/%s\nkind: "
        "PriorityLevelConfiguration\nspec: {limited: {%s}}"
    )
    assert converted(level % ("v1beta2", "assuredConcurrencyShares: 7"))[0]["spec"]["limited"] == {
        "nominalConcurrencyShares": 7
    }
    assert converted(level % ("v1beta3", "nominalConcurrencyShares: 0"))[0]["spec"]["limited"] == {
        "nominalConcurrencyShares": 30
    }
    endpoints, notes = converted("""
apiVersion: discovery.k8s.io/v1beta1
kind: EndpointSlice
endpoints:
- addresses: [10.0.0.1]
  topology: {kubernetes.io/hostname: n, topology.kubernetes.io/zone: z, x: y}
""")
    assert endpoints["endpoints"] == [{"addresses": ["10.0.0.1"], "nodeName": "n", "zone": "z"}]
    assert "topology: x" in notes
    review, _ = converted(
        "apiVersion: authorization.k8s.io/v1beta1\nkind: SubjectAccessReview\nspec: {user: u, "
        "group: [g]}"
    )
    assert review["spec"] == {"user": "u", "groups": ["g"]}


def test_output_version_between_served_versions() -> None:
    head = "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n"
    text = head + "spec: {maxReplicas: 2, scaleTargetRef: {kind: D, name: d}}"
    obj, notes = converted(text, "autoscaling/v2")
    assert obj["apiVersion"] == "autoscaling/v2" and obj["spec"]["maxReplicas"] == 2 and not notes
    same, notes = converted(text, "apps/v1")
    assert same["apiVersion"] == "autoscaling/v1" and "no form in apps/v1" in notes


def test_lists_and_other_documents() -> None:
    (document,) = read(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: batch/v1beta1, kind: CronJob, "
        "metadata: {name: c}}\n- {a: 1}"
    )
    obj, _ = convert(document, None)
    assert [item.get("apiVersion") for item in obj["items"]] == ["batch/v1", None]
    text = write([obj, {"when": "2020-01-01T00:00:00Z"}], as_json=False)
    assert read(text) == [obj, {"when": "2020-01-01T00:00:00Z"}]


def test_the_input_is_never_changed() -> None:
    (document,) = read(
        "apiVersion: extensions/v1beta1\nkind: Ingress\nspec: {backend: {serviceName: a, "
        "servicePort: 1}}"
    )
    before = repr(document)
    convert(document, None)
    assert repr(document) == before


def test_check_names_release_and_replacement() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: policy/v1beta1, kind: PodSecurityPolicy, metadata: {name: p}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: fine}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: old}}
---
{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: d}}
"""
    found = [(f.what, f.text, f.removed) for f in check(text)]
    assert found[0] == (
        "policy/v1beta1 PodSecurityPolicy p",
        "removed in v1.25; nothing replaces it",
        True,
    )
    assert found[1][0] == "v1 Endpoints old" and "deprecated" in found[1][1] and not found[1][2]
    assert found[2] == ("extensions/v1beta1 Deployment d", "removed in v1.16; use apps/v1", True)


@pytest.mark.parametrize("text", ["a: [", "\t- x: {"])
def test_what_is_no_yaml(text: str) -> None:
    with pytest.raises(ManifestError):
        read(text)
