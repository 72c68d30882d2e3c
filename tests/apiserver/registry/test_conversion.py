"""Custom objects in several versions with a conversion webhook, over HTTP: every verb, whoever
reads, whatever the webhook does."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.meta.objects import Object
from tests.support.api import Api
from tests.support.conversions import PARTIAL, TABLE, defined, names
from tests.support.webhooks import (
    bundle,
    convert_one,
    converting,
    serving_context,
    success,
    webhook,
)
from tests.support.widgets import CRD, V1, V2, define, redefine, widget


# --- reading --------------------------------------------------------------------------------------
async def test_an_object_is_read_in_any_version_and_asked_for_once(api: Api) -> None:
    async with defined(api) as hook:
        made = await api.ok("POST", V1, widget("a", host="h", port=1))
        assert hook.calls == []
        assert (await api.ok("GET", V1))["items"][0]["spec"] == {"host": "h", "port": 1}
        found = await api.ok("GET", f"{V2}/a")
        assert found["apiVersion"] == "example.com/v2" and found["spec"] == {"address": "h:1"}
        assert {**found["metadata"], "managedFields": 0} == {**made["metadata"], "managedFields": 0}
        for path in (f"{V2}/a", V2, "/apis/example.com/v2/widgets", f"{V2}/a?resourceVersion=0"):
            await api.ok("GET", path)
        assert hook.asked == 1


async def test_the_review_is_upstreams(api: Api) -> None:
    async with defined(api) as hook:
        await api.ok("POST", V1, widget("a", host="h"))
        await api.ok("GET", f"{V2}/a")
        review = hook.calls[0]
        assert (review["apiVersion"], review["kind"]) == (
            "apiextensions.k8s.io/v1",
            "ConversionReview",
        )
        request = review["request"]
        assert request["desiredAPIVersion"] == "example.com/v2" and len(request["uid"]) == 36
        (sent,) = request["objects"]
        assert sent["apiVersion"] == "example.com/v1" and sent["spec"] == {"host": "h"}
        assert "resourceVersion" not in sent["metadata"] and sent["metadata"]["uid"]
        assert hook.requests[0] == "POST /convert?timeout=30s HTTP/1.1"
        assert hook.headers[0]["content-type"] == "application/json"


async def test_tables_and_metadata_show_the_converted_object(api: Api) -> None:
    columns = [{"name": "Address", "type": "string", "jsonPath": ".spec.address"}]
    async with defined(api, additionalPrinterColumns=columns):
        await api.ok("POST", V1, widget("a", host="h", port=7))
        for path in (V2, f"{V2}/a"):
            table = await api.ok("GET", path, accept=TABLE)
            assert table["rows"][0]["cells"] == ["a", "h:7"]
        found = await api.ok("GET", f"{V2}/a", accept=PARTIAL)
        assert found["kind"] == "PartialObjectMetadata" and found["metadata"]["name"] == "a"


async def test_a_thousand_objects_are_listed_in_few_calls(api: Api) -> None:
    async with defined(api) as hook:
        for start in range(0, 1000, 100):
            await asyncio.gather(
                *(
                    api.ok("POST", V1, widget(f"w{i:04}", host=f"h{i}"))
                    for i in range(start, start + 100)
                )
            )
        found = await api.ok("GET", V2)
        assert [i["spec"]["address"] for i in found["items"]] == [f"h{i}:80" for i in range(1000)]
        assert len(hook.calls) <= 3 and hook.asked == 1000
        await api.ok("GET", V2)
        assert hook.asked == 1000


async def test_pages_convert_what_they_show(api: Api) -> None:
    async with defined(api) as hook:
        for i in range(5):
            await api.ok("POST", V1, widget(f"w{i}", host="h"))
        first = await api.ok("GET", f"{V2}?limit=2")
        assert hook.asked == 2 and first["metadata"]["remainingItemCount"] == 3
        rest = await api.ok("GET", f"{V2}?limit=3&continue={first['metadata']['continue']}")
        assert [i["spec"] for i in rest["items"]] == [{"address": "h:80"}] * 3


async def test_the_past_is_converted_too(api: Api) -> None:
    async with defined(api):
        before = await api.ok("POST", V1, widget("a", host="old"))
        await api.patch(f"{V1}/a", {"spec": {"host": "new"}})
        await api.ok("POST", V1, widget("b", host="later"))
        version = before["metadata"]["resourceVersion"]
        found = await api.ok("GET", f"{V2}?resourceVersion={version}&resourceVersionMatch=Exact")
        assert [(i["metadata"]["resourceVersion"], i["spec"]) for i in found["items"]] == [
            (version, {"address": "old:80"})
        ]


async def test_selectors_see_the_objects_of_the_requests_version(api: Api) -> None:
    async with webhook(_relabelling) as hook:
        await define(api, hook.config(), selectableFields=[{"jsonPath": ".spec.address"}])
        await api.ok("POST", V1, widget("a", host="one"))
        await api.ok("POST", V1, widget("b", host="two"))
        assert await names(api, f"{V2}?labelSelector=form%3Dv2") == ["a", "b"]
        assert await names(api, f"{V1}?labelSelector=form%3Dv2") == []
        assert await names(api, f"{V2}?fieldSelector=spec.address%3Dtwo:80") == ["b"]


async def _relabelling(review: Object) -> Object:
    """Labels say which version an object was converted to."""
    wanted = review["request"]["desiredAPIVersion"]
    made = [convert_one(o, wanted) for o in review["request"]["objects"]]
    for obj in made:
        obj["metadata"] = {
            **obj["metadata"],
            "labels": {"form": wanted.rpartition("/")[2]},
            "finalizers": ["not/taken"],
            "generation": 42,
        }
    return success(review, made)


async def test_of_the_metadata_only_labels_and_annotations_are_taken(api: Api) -> None:
    async with webhook(_relabelling) as hook:
        await define(api, hook.config())
        await api.ok("POST", V1, widget("a", labels={"mine": "x"}))
        metadata = (await api.ok("GET", f"{V2}/a"))["metadata"]
        assert (
            metadata["labels"] == {"form": "v2"}
            and "finalizers" not in metadata
            and metadata["generation"] == 1
        )
        assert (await api.ok("GET", f"{V1}/a"))["metadata"]["labels"] == {"mine": "x"}
        created = await api.ok("POST", V2, widget("b", "v2"))
        assert created["metadata"]["labels"] == {"form": "v2"}
        assert (await api.ok("GET", f"{V1}/b"))["metadata"]["labels"] == {"form": "v1"}


# --- writing --------------------------------------------------------------------------------------
async def test_writes_in_another_version_are_stored_in_the_storage_version(api: Api) -> None:
    async with defined(api):
        created = await api.ok("POST", V2, widget("a", "v2", address="h:1"))
        assert created["apiVersion"] == "example.com/v2" and created["spec"] == {"address": "h:1"}
        assert (await api.ok("GET", f"{V1}/a"))["spec"] == {"host": "h", "port": 1}
        changed = await api.ok("PUT", f"{V2}/a", {**created, "spec": {"address": "h:2"}})
        assert changed["spec"] == {"address": "h:2"} and changed["metadata"]["generation"] == 2
        status, patched = await api.patch(
            f"{V2}/a", [{"op": "replace", "path": "/spec/address", "value": "h:3"}], "json"
        )
        assert status == 200 and patched["spec"] == {"address": "h:3"}
        found = await api.ok("GET", f"{V1}/a")
        assert found["spec"] == {"host": "h", "port": 3} and found["metadata"]["generation"] == 3


async def test_a_write_that_changes_nothing_is_none(api: Api) -> None:
    async with defined(api):
        created = await api.ok("POST", V2, widget("a", "v2", address="h:1"))
        again = await api.ok("PUT", f"{V2}/a", created)
        assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_dry_runs_go_the_same_way_and_store_nothing(api: Api) -> None:
    async with defined(api) as hook:
        made = await api.ok("POST", f"{V2}?dryRun=All", widget("a", "v2", address="h:1"))
        assert made["spec"] == {"address": "h:1"} and hook.asked == 2
        assert (await api("GET", f"{V1}/a"))[0] == 404


async def test_subresources_are_converted(api: Api) -> None:
    async with defined(api):
        created = await api.ok("POST", V1, widget("a", host="h", replicas=1))
        await api.ok(
            "PUT",
            f"{V2}/a/status",
            {**created, "apiVersion": "example.com/v2", "status": {"replicas": 1}},
        )
        found = await api.ok("GET", f"{V2}/a/scale")
        assert found["spec"]["replicas"] == 1 and found["status"]["replicas"] == 1
        status, scaled = await api.patch(f"{V2}/a/scale", {"spec": {"replicas": 5}})
        assert status == 200 and scaled["spec"]["replicas"] == 5
        assert (await api.ok("GET", f"{V1}/a"))["spec"] == {"host": "h", "port": 80, "replicas": 5}
        assert (await api.ok("GET", f"{V1}/a/status"))["status"] == {"replicas": 1}


async def test_objects_are_deleted_through_any_version(api: Api) -> None:
    async with defined(api):
        for name in ("a", "b", "c"):
            await api.ok("POST", V1, widget(name, host="h"))
        gone = await api.ok("DELETE", f"{V2}/a")
        assert gone["status"] == "Success"
        found = await api.ok("DELETE", V2)
        assert [i["spec"] for i in found["items"]] == [{"address": "h:80"}] * 2
        assert await names(api, V1) == []


async def test_deletion_waits_for_finalizers_in_any_version(api: Api) -> None:
    async with defined(api):
        obj = widget("a", "v2", address="h:1")
        obj["metadata"]["finalizers"] = ["example.com/wait"]
        await api.ok("POST", V2, obj)
        waiting = await api.ok("DELETE", f"{V2}/a")
        assert waiting["metadata"]["deletionTimestamp"] and waiting["spec"] == {"address": "h:1"}
        status, last = await api.patch(f"{V2}/a", {"metadata": {"finalizers": None}})
        assert status == 200 and last["spec"] == {"address": "h:1"}
        assert (await api("GET", f"{V1}/a"))[0] == 404


# --- managed fields -------------------------------------------------------------------------------
def owners(obj: Object) -> dict[str, tuple[str, set[str]]]:
    """manager → (version, members of spec)."""
    found = obj["metadata"]["managedFields"]
    return {
        e["manager"]: (
            e["apiVersion"].rpartition("/")[2],
            set(e["fieldsV1"].get("f:spec", {})) - {"."},
        )
        for e in found
    }


async def test_managers_of_two_versions_apply_to_one_object(api: Api) -> None:
    async with defined(api):
        status, _ = await api.patch(
            f"{V1}/a", widget("a", host="h", port=1), "apply", fieldManager="one"
        )
        assert status == 201
        status, found = await api.patch(
            f"{V2}/a", widget("a", "v2", address="h:1", replicas=3), "apply", fieldManager="two"
        )
        assert status == 200, found
        assert found["spec"] == {"address": "h:1", "replicas": 3}
        assert owners(found) == {
            "one": ("v1", {"f:host", "f:port"}),
            "two": ("v2", {"f:address", "f:replicas"}),
        }

        status, conflict = await api.patch(
            f"{V2}/a", widget("a", "v2", address="other:1"), "apply", fieldManager="two"
        )
        assert (
            status == 409
            and conflict["message"]
            == 'Apply failed with 1 conflict: conflict with "one": .spec.host'
        )
        status, found = await api.patch(
            f"{V2}/a", widget("a", "v2", address="o:2"), "apply", fieldManager="two", force="true"
        )
        assert status == 200 and found["spec"] == {"address": "o:2"}  # replicas was given up
        assert owners(found) == {"two": ("v2", {"f:address"})}
        assert (await api.ok("GET", f"{V1}/a"))["spec"] == {"host": "o", "port": 2}


async def test_a_manager_that_moves_to_another_version_gives_up_what_it_no_longer_applies(
    api: Api,
) -> None:
    async with defined(api):
        await api.patch(
            f"{V1}/a", widget("a", host="h", port=1, replicas=2), "apply", fieldManager="one"
        )
        status, found = await api.patch(
            f"{V2}/a", widget("a", "v2", address="h:1"), "apply", fieldManager="one"
        )
        assert status == 200 and found["spec"] == {"address": "h:1"}, found
        assert owners(found) == {"one": ("v2", {"f:address"})}


async def test_updates_take_fields_from_managers_of_other_versions(api: Api) -> None:
    async with defined(api):
        await api.patch(f"{V1}/a", widget("a", host="h", port=1), "apply", fieldManager="one")
        status, found = await api.patch(
            f"{V2}/a", {"spec": {"address": "h:9"}}, "merge", fieldManager="edit"
        )
        assert status == 200 and owners(found) == {
            "one": ("v1", {"f:host"}),
            "edit": ("v2", {"f:address"}),
        }


async def test_a_webhook_may_be_a_service_of_the_tenant(api: Api) -> None:
    async with webhook(converting, serving_context("out.ns.svc")) as hook:
        service = {
            "service": {"namespace": "ns", "name": "hook", "path": "/convert"},
            "caBundle": bundle(),
        }
        await define(api, service)
        await api.ok("POST", V1, widget("a", host="h"))
        url = (
            "conversion webhook for example.com/v1, Kind=Widget failed: Post "
            '"https://hook.ns.svc:443/convert?timeout=30s": '
        )
        assert (await api("GET", f"{V2}/a"))[1]["message"] == url + 'service "hook" not found'
        spec = {"clusterIP": "None", "ports": [{"port": 443}]}
        await api.ok(
            "POST", "/api/v1/namespaces/ns/services", {"metadata": {"name": "hook"}, "spec": spec}
        )
        assert (await api("GET", f"{V2}/a"))[1][
            "message"
        ] == url + 'no endpoints available for service "hook"'
        part = {
            "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
            "addressType": "IPv4",
        }
        part |= {
            "endpoints": [{"addresses": ["127.0.0.1"]}],
            "ports": [{"name": "", "port": hook.port}],
        }
        status, refused = await api(
            "POST", "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices", part
        )
        assert status == 422 and "may not be in the loopback range" in refused["message"]
        assert hook.connections == 0

        spec = {"type": "ExternalName", "externalName": "localhost"}
        await api.ok(
            "POST", "/api/v1/namespaces/ns/services", {"metadata": {"name": "out"}, "spec": spec}
        )
        await redefine(
            api,
            {
                "service": {"namespace": "ns", "name": "out", "port": hook.port},
                "caBundle": bundle(),
            },
        )
        assert (await api.ok("GET", f"{V2}/a"))["spec"] == {"address": "h:80"}
        assert hook.headers[0]["host"] == f"out.ns.svc:{hook.port}"


# --- storage versions -----------------------------------------------------------------------------
async def test_the_storage_version_may_change_while_objects_are_there(api: Api) -> None:
    async with defined(api) as hook:
        await api.ok("POST", V1, widget("old", host="h", port=1))
        await redefine(api, hook.config(), "v2")
        await api.ok("POST", V1, widget("new", host="n", port=2))
        assert (await api.ok("GET", CRD))["status"]["storedVersions"] == ["v1", "v2"]
        for path, wanted in (
            (V1, [{"host": "n", "port": 2}, {"host": "h", "port": 1}]),
            (V2, [{"address": "n:2"}, {"address": "h:1"}]),
        ):
            assert [i["spec"] for i in (await api.ok("GET", path))["items"]] == wanted
        old = await api.ok("GET", f"{V1}/old")
        again = await api.ok("PUT", f"{V1}/old", old)  # says nothing new, and is stored anew
        assert again["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]
        assert (
            again["metadata"]["generation"] == 1
            and again["metadata"]["managedFields"] == old["metadata"]["managedFields"]
        )
        third = await api.ok("PUT", f"{V1}/old", again)
        assert third["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


async def test_without_a_webhook_only_the_version_changes(api: Api) -> None:
    await define(api, None)
    created = await api.ok("POST", V2, widget("a", "v2", replicas=1))
    assert created["apiVersion"] == "example.com/v2"
    assert (await api.ok("GET", f"{V1}/a"))["spec"] == {"replicas": 1}
    await redefine(api, None, "v2")
    assert (await api.ok("GET", f"{V2}/a"))["spec"] == {"replicas": 1}
    await api.ok("POST", V1, widget("b", host="h", replicas=2))
    for path in (V1, V2):  # v2, in which it is stored, knows no host
        assert (await api.ok("GET", f"{path}/b"))["spec"] == {"replicas": 2}


@pytest.mark.parametrize("review", ["v1beta1", "v1"])
async def test_the_first_known_review_version_is_spoken(api: Api, review: str) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        found = await api.ok("GET", CRD)
        found["spec"]["conversion"]["webhook"]["conversionReviewVersions"] = [
            "v9",
            review,
            "v1beta1" if review == "v1" else "v1",
        ]
        await api.ok("PUT", CRD, found)
        await api.ok("POST", V1, widget("a", host="h"))
        await api.until(
            lambda: api.catalog.find(api.tenant, "example.com", "widgets").webhook.review == review
        )  # type: ignore[union-attr]
        await api.ok("GET", f"{V2}/a")
        assert hook.calls[0]["apiVersion"] == f"apiextensions.k8s.io/{review}"
