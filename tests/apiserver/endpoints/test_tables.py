"""Tables and metadata alone, through the entry: they are made before the object is converted into
the version that is asked for (k8s.io/apiserver ``endpoints/handlers/response.go``)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from apiserver.kinds.apiextensions import custom
from apiserver.kinds.apiextensions.columns import row
from apiserver.storage.postgres import PostgresStore
from tests.support.api import serving
from tests.support.widgets import V2, define, widget

SCALERS = "/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers"
DAEMONS = "/apis/apps/v1/namespaces/ns/daemonsets"
METRICS = "autoscaling.alpha.kubernetes.io/metrics"
GENERATION = "deprecated.daemonset.template.generation"
PODS = "/api/v1/namespaces/ns/pods"
POD = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = {
    "metadata": {"name": "as.b.example.com"},
    "spec": {
        "group": "b.example.com",
        "names": {"plural": "as", "kind": "A"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def accept(kind: str) -> str:
    return f"application/json;as={kind};v=v1;g=meta.k8s.io"


def scaler() -> dict[str, Any]:
    metric = '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5"}}]'
    ref = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "x", "annotations": {METRICS: metric, "a": "b"}},
        "spec": {"maxReplicas": 2, "scaleTargetRef": ref},
    }


async def test_metadata_alone_has_no_annotations_of_a_conversion(
    store: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        made = await api.ok("POST", SCALERS, scaler())
        assert METRICS in made["metadata"]["annotations"]
        one, table = f"{SCALERS}/x", accept("Table")
        watch = api.watch(f"{SCALERS}?watch=1&resourceVersion=0", accept=table)
        (event,) = await watch.take(1)
        await watch.stop()
        rows = [
            (await api.ok("GET", one, accept=table))["rows"][0],
            (await api.ok("GET", SCALERS, accept=table))["rows"][0],
            event["object"]["rows"][0],
        ]
        assert [row["cells"][2] for row in rows] == ["<unknown>/5"] * 3
        partial = await api.ok("GET", one, accept=accept("PartialObjectMetadata"))
        listed = await api.ok("GET", SCALERS, accept=accept("PartialObjectMetadataList"))
        shown = [*(row["object"] for row in rows), partial, *listed["items"]]
        assert [o["metadata"]["annotations"] for o in shown] == [{"a": "b"}] * 5
        whole = await api.ok("GET", f"{one}?includeObject=Object", accept=table)
        assert METRICS in whole["rows"][0]["object"]["metadata"]["annotations"]


async def test_an_annotation_that_is_no_number_is_a_bad_request(
    store: PostgresStore, tenant: int
) -> None:
    metadata = {"name": "x", "annotations": {GENERATION: "y"}}
    async with serving(store, tenant) as api:
        status, found = await api("POST", DAEMONS, {"metadata": metadata, "spec": {}})
    assert (status, found["message"]) == (
        400,
        'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: '
        'parsing "y": invalid syntax',
    )


@pytest.mark.parametrize(
    ("path", "subresource"),
    [
        ("/api/v1/namespaces/ns/pods/x", "ephemeralcontainers"),
        ("/api/v1/namespaces/ns/pods/x", "resize"),
        (f"{DEFINITIONS}/as.b.example.com", "status"),
    ],
)
async def test_subresources_whose_storage_converts_to_no_table(
    store: PostgresStore, tenant: int, path: str, subresource: str
) -> None:
    """Where the client takes the object as well, it gets that (rest.TableConvertor)."""
    async with serving(store, tenant) as api:
        await api.ok("POST", PODS, POD)
        await api.ok("POST", DEFINITIONS, DEFINITION)
        table = accept("Table")
        assert (await api.ok("GET", path, accept=table))["kind"] == "Table"
        status, refused = await api("GET", f"{path}/{subresource}", accept=table)
        assert (status, "as=Table" in refused["message"]) == (406, False)
        either = f"{table},application/json"
        shown = await api.ok("GET", f"{path}/{subresource}", accept=either)
        assert shown["metadata"]["name"] == path.rpartition("/")[2]


async def test_columns_of_a_definition_keep_nobody_waiting(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their paths are the tenant's: what takes long of them is done in a thread."""
    hostile = {"name": "z", "type": "string", "jsonPath": ".spec" + "..a" * 30}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}}
    spec: dict[str, Any] = {}
    for _ in range(60):
        spec = {"a": spec, "b": {}}
    threads: set[str] = set()

    def noted(*arguments: Any) -> list[Any]:
        threads.add(threading.current_thread().name)
        return row(*arguments)

    monkeypatch.setattr(custom, "row", noted)
    async with serving(store, tenant) as api:
        await define(api, None, "v2", additionalPrinterColumns=[hostile] * 3, schema=schema)
        for i in range(80):
            await api.ok("POST", V2, {**widget(f"w{i:02}", "v2"), "spec": spec})
        table = await api.ok("GET", V2, accept=accept("Table"))
        assert [cells["cells"][0] for cells in table["rows"]] == [f"w{i:02}" for i in range(80)]
        assert threads - {threading.main_thread().name}, "it was begun anew beside the loop"
        threads.clear()
        one = await api.ok("GET", f"{V2}/w00", accept=accept("Table"))
        assert one["rows"][0]["cells"] == ["w00", None, None, None]
