"""Methods on paths of objects of definitions: the verb decides, not a route (k8s.io/
apiextensions-apiserver ``pkg/apiserver/customresource_handler.go``)."""

from __future__ import annotations

from tests.apiserver.registry.test_custom_resources import FOOS, define, foo
from tests.support.api import TYPES, Api
from tests.support.definitions import definition

ACROSS = "/apis/example.com/v1/foos"


async def test_head_reads_as_get_does(api: Api) -> None:
    await define(api, definition())
    await api.ok("POST", FOOS, foo())
    for path in (FOOS, ACROSS, f"{FOOS}/f", f"{FOOS}/f/"):
        assert (await api("HEAD", path))[0] == 200, path
    assert (await api("HEAD", f"{FOOS}/missing"))[0] == 404


async def test_a_post_may_name_anything(api: Api) -> None:
    await define(api, definition())
    made = await api.ok("POST", f"{FOOS}/other", foo("f"))
    assert made["metadata"]["name"] == "f"
    assert (await api("POST", f"{FOOS}/other", foo("f")))[0] == 409
    assert (await api("GET", f"{FOOS}/other"))[0] == 404


async def test_what_is_changed_has_a_name(api: Api) -> None:
    await define(api, definition())
    for method, type in (("PUT", "application/json"), ("PATCH", TYPES["merge"])):
        status, answer = await api(method, FOOS, foo(), type)
        assert (status, answer["message"]) == (400, "name must be provided"), method


async def test_other_verbs_are_named_in_the_refusal(api: Api) -> None:
    await define(api, definition())
    status, answer = await api("OPTIONS", f"{FOOS}/f")
    assert (status, answer["details"]) == (405, {"group": "example.com", "kind": "foos"})
    assert answer["message"] == ' is not supported on resources of kind "foos.example.com"'
