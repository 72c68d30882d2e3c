"""Admission webhooks over HTTP: what they are asked, and what becomes of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.meta.objects import Object
from tests.support.admissionhooks import (
    ADMISSION,
    CONFIGMAPS,
    EVERYTHING,
    KINDS,
    allowing,
    answer,
    collection,
    configmap,
    configuration,
    configure,
    denying,
    entry,
    labelling,
    patched,
)
from tests.support.api import Api
from tests.support.webhooks import webhook

MAPS = "/api/v1/namespaces/ns/configmaps"


# --- validating -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_the_review_is_upstreams(api: Api, kind: str) -> None:
    async with webhook(allowing) as hook:
        await configure(api, kind, entry(hook.config()))
        await api.ok("POST", f"{MAPS}?fieldManager=me&dryRun=All", configmap("a", {"k": "v"}))
        (review,) = hook.calls
        assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        request = review["request"]
        obj, uid = request.pop("object"), request.pop("uid")
        assert len(uid) == 36 and obj["data"] == {"k": "v"}
        assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")
        groups = request["userInfo"].pop("groups")
        assert request.pop("userInfo") == {"username": "system:anonymous"}, groups
        assert request == {
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
            "name": "a",
            "namespace": "ns",
            "operation": "CREATE",
            "oldObject": None,
            "dryRun": True,
            "options": {
                "kind": "CreateOptions",
                "apiVersion": "meta.k8s.io/v1",
                "dryRun": ["All"],
                "fieldManager": "me",
            },
        }
        assert hook.requests == ["POST /convert?timeout=10s HTTP/1.1"]


async def test_a_denial_is_told_in_the_webhooks_words(api: Api) -> None:
    said: Object = {}

    async def denies(review: Object) -> Object:
        return answer(review, allowed=False, **said)

    async with webhook(denies) as hook:
        await configure(api, "validating", entry(hook.config()))
        status, told = await api("POST", MAPS, configmap("a"))
        assert (status, told) == (
            400,
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": 'admission webhook "hook.example.com" denied the request '
                "without explanation",
                "code": 400,
            },
        )
        cause = {"reason": "R", "message": "m", "field": "f"}
        said["status"] = {
            "code": 418,
            "reason": "Teapot",
            "message": "no \u00fcber tea",
            "details": {"name": "a", "causes": [cause], "retryAfterSeconds": 3},
            "unknown": 1,
        }
        status, told = await api("POST", MAPS, configmap("a"))
        assert (status, told["code"], told["reason"]) == (418, 418, "Teapot")
        assert told["message"] == (
            'admission webhook "hook.example.com" denied the request: no \u00fcber tea'
        )
        assert told["details"] == {"name": "a", "causes": [cause], "retryAfterSeconds": 3}
        said["status"] = {"reason": "OnlyReason", "status": "Success", "code": 200}
        status, told = await api("POST", MAPS, configmap("a"))
        assert (status, told["status"]) == (400, "Failure")
        assert told["message"].endswith(" denied the request: OnlyReason")
        for code in (600, 999, 1000):  # no status of HTTP
            said["status"] = {"code": code}
            status, told = await api("POST", MAPS, configmap("a"))
            assert (status, told["code"]) == (500, 500)
        assert (await api.ok("GET", MAPS))["items"] == []


async def test_warnings_are_passed_on(api: Api) -> None:
    async def warns(review: Object) -> Object:
        allowed = review["request"]["name"] != "b"
        return answer(review, allowed=allowed, warnings=["one", "two", "one", "", "bad\ntext"])

    async with webhook(warns) as hook:
        await configure(api, "validating", entry(hook.config()))
        await api.ok("POST", MAPS, configmap("a"))
        assert api.warnings == ['299 - "one"', '299 - "two"']
        await api("POST", MAPS, configmap("b"))
        assert api.warnings == ['299 - "one"', '299 - "two"']


async def test_long_warnings_are_cut_as_upstream_cuts_them(api: Api) -> None:
    async def warns(review: Object) -> Object:
        return answer(review, warnings=[f"{i}{'x' * 400}" for i in range(100)])

    async with webhook(warns) as hook:
        await configure(api, "validating", entry(hook.config()))
        await api.ok("POST", MAPS, configmap("a"))
        assert len(api.warnings) == 16
        assert all(len(text) == len('299 - ""') + 256 for text in api.warnings)


async def test_all_are_asked_and_one_refusal_refuses(api: Api) -> None:
    async with webhook(allowing) as one, webhook(denying) as two, webhook(allowing) as three:
        hooks = (one, two, three)
        entries = [entry(h.config(), f"h{i}.example.com") for i, h in enumerate(hooks)]
        await configure(api, "validating", *entries)
        status, told = await api("POST", MAPS, configmap("a"))
        assert status == 400 and '"h1.example.com" denied' in told["message"]
        assert [len(h.calls) for h in hooks] == [1, 1, 1]


async def test_every_operation(api: Api) -> None:
    async with webhook(allowing) as hook:
        await configure(api, "validating", entry(hook.config()))
        await api.ok("POST", MAPS, configmap("a"))
        await api.ok("PUT", f"{MAPS}/a", configmap("a", {"k": "1"}))
        await api.patch(f"{MAPS}/a", {"data": {"k": "2"}}, fieldManager="m")
        await api.patch(
            f"{MAPS}/b", configmap("b"), "apply", fieldManager="m", fieldValidation="Strict"
        )
        await api.ok("DELETE", f"{MAPS}/a?propagationPolicy=Background")
        await api.ok("DELETE", MAPS)
        told = [r["request"] for r in hook.calls]
        assert [(r["operation"], r.get("name", ""), r["options"]["kind"]) for r in told] == [
            ("CREATE", "a", "CreateOptions"),
            ("UPDATE", "a", "UpdateOptions"),
            ("UPDATE", "a", "UpdateOptions"),
            ("CREATE", "b", "CreateOptions"),
            ("DELETE", "a", "DeleteOptions"),
            ("DELETE", "", "DeleteOptions"),
        ]
        assert [bool(r["object"]) for r in told] == [True, True, True, True, False, False]
        assert [bool(r["oldObject"]) for r in told] == [False, True, True, False, True, True]
        assert told[2]["oldObject"]["data"] == {"k": "1"} and told[2]["object"]["data"]["k"] == "2"
        assert told[3]["options"]["fieldValidation"] == "Strict"
        assert told[4]["options"]["propagationPolicy"] == "Background"
        assert told[5]["oldObject"]["metadata"]["name"] == "b"


async def test_a_deletion_can_be_refused(api: Api) -> None:
    async with webhook(denying) as hook:
        await api.ok("POST", MAPS, configmap("a"))
        await configure(api, "validating", entry(hook.config()))
        assert (await api("DELETE", f"{MAPS}/a"))[0] == 400
        assert (await api("DELETE", MAPS))[0] == 400
        await api.ok("GET", f"{MAPS}/a")


async def test_a_generated_name_is_known_to_validating_webhooks_only(api: Api) -> None:
    async with webhook(allowing) as hook:
        await configure(api, "mutating", entry(hook.config()))
        await configure(api, "validating", entry(hook.config()))
        obj = configmap("x")
        obj["metadata"] = {"generateName": "gen-"}
        made = await api.ok("POST", MAPS, obj)
        first, second = (r["request"] for r in hook.calls)
        assert "name" not in first and first["object"]["metadata"].get("name", "") == ""
        assert "uid" not in first["object"]["metadata"]
        assert second["name"] == second["object"]["metadata"]["name"] == made["metadata"]["name"]
        assert second["object"]["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_namespace_lies_in_itself(api: Api) -> None:
    rule = {**EVERYTHING, "resources": ["namespaces"]}
    async with webhook(allowing) as hook:
        await configure(api, "validating", entry(hook.config(), rules=[rule]))
        await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
        await api.ok("DELETE", "/api/v1/namespaces/new")
        told = [r["request"] for r in hook.calls]
        assert [(r["name"], r["namespace"]) for r in told[:2]] == [("new", "new")] * 2


async def test_v1beta1(api: Api) -> None:
    async def older(review: Object) -> Object:
        assert review["apiVersion"] == "admission.k8s.io/v1beta1"
        response = patched(review, {"op": "add", "path": "/data/added", "value": "1"})["response"]
        del response["patchType"], response["uid"]  # it never asked for them
        return {"response": response}

    async with webhook(older) as hook:
        versions = ["v2", "v1beta1", "v1"]
        await configure(api, "mutating", entry(hook.config(), admissionReviewVersions=versions))
        made = await api.ok("POST", MAPS, configmap("a", {"k": "v"}))
        assert made["data"] == {"k": "v", "added": "1"}


@pytest.mark.parametrize("kind", KINDS)
async def test_no_webhook_is_asked_about_webhooks_and_policies(api: Api, kind: str) -> None:
    async with webhook(denying) as hook:
        await configure(api, kind, entry(hook.config(), rules=[EVERYTHING]))
        other = configuration(kind, entry(hook.config()), name="other")
        await api.ok("POST", collection(kind), other)
        await api.ok("DELETE", f"{collection(kind)}/other")
        policy = {
            "metadata": {"name": "p"},
            "spec": {
                "matchConstraints": {"resourceRules": [CONFIGMAPS]},
                "validations": [{"expression": "true"}],
            },
        }
        await api.ok("POST", f"{ADMISSION}/validatingadmissionpolicies", policy)
        assert hook.calls == []
        assert (await api("POST", MAPS, configmap("a")))[0] == 400


# --- mutating -------------------------------------------------------------------------------------


async def test_a_patch_changes_the_object_and_nobody_owns_that(api: Api) -> None:
    async with webhook(labelling("by", "hook")) as hook:
        await configure(api, "mutating", entry(hook.config()))
        made = await api.ok("POST", f"{MAPS}?fieldManager=me", configmap("a", {"k": "v"}))
        assert made["metadata"]["labels"] == {"by": "hook"}
        (owned,) = made["metadata"]["managedFields"]
        assert owned["manager"] == "me" and owned["fieldsV1"] == {"f:data": {".": {}, "f:k": {}}}
        assert (await api.ok("GET", f"{MAPS}/a"))["metadata"]["labels"] == {"by": "hook"}


async def test_they_are_asked_in_the_order_of_their_configurations_names(api: Api) -> None:
    async def appends(review: Object) -> Object:
        data = dict(review["request"]["object"].get("data") or {})
        return patched(
            review,
            {"op": "add", "path": "/data", "value": {**data, "seen": "x" + data.get("seen", "")}},
        )

    async with webhook(appends) as one, webhook(labelling("l", "1")) as two:
        await configure(api, "mutating", entry(one.config(), "z.example.com"), name="b")
        first = [entry(two.config(), "c.example.com"), entry(one.config(), "a.example.com")]
        await configure(api, "mutating", *first, name="a")
        made = await api.ok("POST", MAPS, configmap("m"))
        assert made["data"] == {"seen": "xx"} and made["metadata"]["labels"] == {"l": "1"}
        assert [c["request"]["object"]["metadata"].get("labels") for c in one.calls] == [
            {"l": "1"}
        ] * 2
        assert "labels" not in two.calls[0]["request"]["object"]["metadata"]


async def test_what_a_webhook_made_is_typed_defaulted_and_validated(api: Api) -> None:
    rule = {**EVERYTHING, "resources": ["services"]}
    operations: list[Any] = [
        {"op": "add", "path": "/spec/ports", "value": [{"port": 80, "wrong": 1}]}
    ]

    async def ports(review: Object) -> Object:
        return patched(review, *operations)

    async with webhook(ports) as hook:
        await configure(api, "mutating", entry(hook.config(), rules=[rule]))
        services = "/api/v1/namespaces/ns/services"
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], "clusterIP": "None"}}
        made = await api.ok("POST", services, service)
        assert made["spec"]["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
        operations[:] = [{"op": "add", "path": "/spec/ports", "value": [{"port": 0}]}]
        status, told = await api("POST", services, {**service, "metadata": {"name": "t"}})
        assert status == 422 and "spec.ports[0].port: Invalid value: 0" in told["message"]
        operations[:] = [{"op": "add", "path": "/spec/ports", "value": "many"}]
        status, told = await api("POST", services, {**service, "metadata": {"name": "t"}})
        assert (status, told["reason"]) == (500, "InternalError")
        assert told["message"] == (
            "Internal error occurred: json: cannot unmarshal string into Go struct field "
            "ServiceSpec.spec.ports of type []v1.ServicePort"
        )


async def test_a_webhook_cannot_move_an_object_to_another_namespace(api: Api) -> None:
    async def moves(review: Object) -> Object:
        return patched(review, {"op": "replace", "path": "/metadata/namespace", "value": "default"})

    async with webhook(moves) as hook:
        await configure(api, "mutating", entry(hook.config()))
        status, told = await api("POST", MAPS, configmap("a"))
        assert status == 400 and "does not match the namespace sent" in told["message"]


async def test_a_deletion_cannot_be_patched(api: Api) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, {"op": "add", "path": "/data", "value": {}})

    async with webhook(changes) as hook:
        await api.ok("POST", MAPS, configmap("a"))
        await configure(api, "mutating", entry(hook.config()))
        status, told = await api("DELETE", f"{MAPS}/a")
        assert status == 500 and told["message"] == (
            'Internal error occurred: admission webhook "hook.example.com" attempted to modify the '
            "object, which is not supported for this operation"
        )


async def test_reinvocation(api: Api) -> None:
    """The first is asked again because the second changed the object; the second is not."""
    async with webhook(labelling("one", "1")) as one, webhook(labelling("two", "2")) as two:
        first = entry(one.config(), "a.example.com", reinvocationPolicy="IfNeeded")
        await configure(api, "mutating", first, entry(two.config(), "b.example.com"))
        await api.ok("POST", MAPS, configmap("m"))
        assert (len(one.calls), len(two.calls)) == (2, 1)
        assert one.calls[1]["request"]["object"]["metadata"]["labels"] == {"one": "1", "two": "2"}
        await api.ok("POST", MAPS, configmap("n", labels={"one": "1", "two": "2"}))
        assert (len(one.calls), len(two.calls)) == (3, 2)  # nothing changed


async def test_who_was_not_asked_at_first_is_not_asked_in_the_second_round(api: Api) -> None:
    picky = {"matchLabels": {"two": "2"}}
    async with webhook(allowing) as one, webhook(labelling("two", "2")) as two:
        first = entry(
            one.config(), "a.example.com", reinvocationPolicy="IfNeeded", objectSelector=picky
        )
        second = entry(two.config(), "b.example.com", reinvocationPolicy="IfNeeded")
        await configure(api, "mutating", first, second)
        await api.ok("POST", MAPS, configmap("m"))
        assert (len(one.calls), len(two.calls)) == (0, 1)


async def test_several_of_one_name_are_several(api: Api) -> None:
    """Names are unique within a configuration only."""
    async with webhook(labelling("one", "1")) as one, webhook(labelling("two", "2")) as two:
        for name, hook in (("a", one), ("b", two)):
            same = entry(hook.config(), reinvocationPolicy="IfNeeded")
            await configure(api, "mutating", same, name=name)
        made = await api.ok("POST", MAPS, configmap("m"))
        assert made["metadata"]["labels"] == {"one": "1", "two": "2"}
        assert (len(one.calls), len(two.calls)) == (2, 1)
