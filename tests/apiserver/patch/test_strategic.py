"""Strategic merge patch: each directive, each error, and an independent model of lists that merge
by key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.errors import ApiError
from apiserver.golang.fmt import go_value
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object, copy_json
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.schema.builtin import schema_for

POD = schema_for(GroupVersionKind("", "v1", "Pod"))
DEPLOYMENT = schema_for(GroupVersionKind("apps", "v1", "Deployment"))


def pod(doc: Object, patch: Object) -> Object:
    before = copy_json((doc, patch))
    made, _ = apply_strategic_patch(doc, patch, POD)
    assert (doc, patch) == before
    return made


def containers(*items: Object) -> Object:
    return {"spec": {"containers": list(items)}}


def names(made: Object) -> list[str]:
    return [c["name"] for c in made["spec"]["containers"]]


WEB, SIDE = {"name": "web", "image": "web:1", "args": ["a"]}, {"name": "side", "image": "side:1"}


def test_lists_of_maps_merge_by_their_key_and_new_elements_come_first() -> None:
    made = pod(
        containers(WEB, SIDE),
        containers({"name": "new"}, {"name": "web", "image": "web:2", "args": ["b"]}),
    )
    assert made == containers(
        {"name": "new"}, {"name": "web", "image": "web:2", "args": ["b"]}, SIDE
    )


def test_maps_merge_and_null_removes() -> None:
    made = pod(
        {"metadata": {"labels": {"a": "1", "b": "2"}, "name": "p"}},
        {"metadata": {"labels": {"a": None, "c": "3", "d": None}}},
    )
    assert made == {"metadata": {"labels": {"b": "2", "c": "3"}, "name": "p"}}


def test_nulls_in_what_is_new_are_dropped() -> None:
    assert pod(
        {}, containers({"name": "a", "image": None, "env": [{"name": "x", "value": None}]})
    ) == containers({"name": "a", "env": [{"name": "x"}]})


def test_replace_and_delete_of_maps_and_lists() -> None:
    labels: Object = {"metadata": {"labels": {"a": "1"}}}
    assert pod(labels, {"metadata": {"labels": {"$patch": "replace", "b": "2"}}}) == {
        "metadata": {"labels": {"b": "2"}}
    }
    assert pod(labels, {"metadata": {"labels": {"$patch": "delete"}}}) == {
        "metadata": {"labels": {}}
    }
    assert pod({}, {"metadata": {"labels": {"$patch": "replace", "b": "2"}}}) == {"metadata": {}}
    assert pod(
        containers(WEB, SIDE), containers({"$patch": "replace"}, {"name": "x"})
    ) == containers({"name": "x"})
    assert pod(
        containers(WEB, SIDE), containers({"name": "side", "$patch": "delete"})
    ) == containers(WEB)
    assert pod(containers(WEB), containers({"name": "nobody", "$patch": "delete"})) == containers(
        WEB
    )


def test_retain_keys_clears_the_rest() -> None:
    doc = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply_strategic_patch(doc, patch, DEPLOYMENT)[0] == {
        "spec": {"strategy": {"type": "Recreate"}}
    }
    volumes = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    swap = {
        "spec": {
            "volumes": [
                {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}
            ]
        }
    }
    assert pod(volumes, swap) == {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}


def test_scalar_lists_that_merge() -> None:
    doc = {"metadata": {"finalizers": ["a", "b", "c"]}}
    assert pod(doc, {"metadata": {"finalizers": ["d", "b"]}})["metadata"]["finalizers"] == [
        "d",
        "a",
        "b",
        "c",
    ]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"]}}
    assert pod(doc, patch) == {"metadata": {"finalizers": ["a", "c"]}}
    assert pod({"metadata": {}}, patch) == {"metadata": {}}


def test_set_element_order_orders_what_it_names() -> None:
    order = [{"name": "x"}, {"name": "side"}, {"name": "web"}]
    patch = {"spec": {"$setElementOrder/containers": order, "containers": [{"name": "x"}]}}
    made = pod(containers(WEB, SIDE, {"name": "other"}), patch)
    assert names(made) == ["x", "side", "web", "other"]
    only_order = {"spec": {"$setElementOrder/containers": [{"name": "side"}, {"name": "web"}]}}
    assert names(pod(containers(WEB, SIDE), only_order)) == ["side", "web"]
    assert pod({"spec": {}}, only_order) == {"spec": {}}
    scalars = {"metadata": {"$setElementOrder/finalizers": ["b", "a"], "finalizers": ["b"]}}
    assert pod({"metadata": {"finalizers": ["a", "z"]}}, scalars)["metadata"]["finalizers"] == [
        "b",
        "a",
        "z",
    ]


def test_added_elements_come_in_the_room_of_deleted_ones_when_an_order_is_set() -> None:
    def swap(*live: str, delete: str, add: list[str]) -> list[str]:
        changes = [{"name": delete, "$patch": "delete"}, *({"name": n} for n in add)]
        order = [{"name": "web"}, *({"name": n} for n in add)]
        return names(
            pod(
                containers(*({"name": n} for n in live)),
                {"spec": {"$setElementOrder/containers": order, "containers": changes}},
            )
        )

    assert swap("old", "web", "proxy", delete="old", add=["new"]) == ["web", "proxy", "new"]
    assert swap("old", "web", "proxy", delete="old", add=["a", "b"]) == ["web", "proxy", "a", "b"]
    assert swap("web", "proxy", delete="old", add=["new"]) == ["web", "new", "proxy"]
    assert swap("proxy", "old", delete="old", add=["web"]) == ["proxy", "web"]


def test_lists_without_a_strategy_are_replaced() -> None:
    doc = {"spec": {"tolerations": [{"key": "a"}]}}
    assert pod(doc, {"spec": {"tolerations": [{"key": "b"}]}}) == {
        "spec": {"tolerations": [{"key": "b"}]}
    }


MIXED = "list element types are not identical: [[map[args:[a] image:web:1 name:web]]"


@pytest.mark.parametrize(
    ("doc", "patch", "code", "message"),
    [
        (
            {"metadata": {"labels": {}}},
            {"metadata": {"labels": {"$patch": "explode"}}},
            500,
            "unknown patch type: explode in map: map[$patch:explode]",
        ),
        (
            containers(WEB),
            containers({"name": "web", "$patch": "merge"}),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            containers(WEB),
            containers({"$patch": 5}),
            500,
            "unknown patch type: %!s(int64=5) in map: map[$patch:5]",
        ),
        (
            containers(WEB),
            containers({"image": "x"}),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            containers(WEB),
            containers({"$patch": "delete"}),
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (containers(WEB), {"spec": {"containers": ["x"]}}, 500, f"{MIXED} [x]]"),
        (containers(WEB), {"spec": {"containers": [[]]}}, 500, f"{MIXED} [[]]]"),
        (
            {"spec": {"containers": [[]]}},
            containers(WEB),
            422,
            "the server rejected our request due to an error in our request",
        ),
        ({}, {"$retainKeys": "x"}, 400, "invalid patch format of retainKeys"),
        ({}, {"$retainKeys": ["spec"], "metadata": {}}, 400, "invalid patch format of retainKeys"),
        ({}, {"$deleteFromPrimitiveList": ["x"]}, 400, "invalid patch format of primitive list"),
        ({}, {"$setElementOrder": ["x"]}, 400, "invalid patch format of setElementOrder list"),
        ({}, {"$setElementOrder/x": "y"}, 500, "expected a []interface {}, but received a string"),
        (
            {"odd": {}},
            {"odd": {"a": 1}},
            500,
            'unable to find api field in struct Pod for the json field "odd"',
        ),
        (
            {"metadata": {"labels": {"a": {}}}},
            {"metadata": {"labels": {"a": {"b": 1}}}},
            500,
            "merging an object in json but data type is not struct, instead is: map",
        ),
        (
            containers(WEB, SIDE),
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "web"}],
                    "containers": [{"name": "side"}],
                }
            },
            500,
            "The order in patch list:\n[map[name:side]]\n doesn't match $setElementOrder "
            "list:\n[map[name:web]]\n",
        ),
    ],
)
def test_errors(doc: Object, patch: Object, code: int, message: str) -> None:
    with pytest.raises(ApiError) as e:
        pod(doc, patch)
    assert (e.value.code, e.value.message) == (code, message)


def test_what_is_left_of_the_patch_is_what_errors_quote() -> None:
    _, rest = apply_strategic_patch(
        {}, {"metadata": {"labels": {"a": None, "b": "1"}}, "odd": [1, True, 1.5]}, POD
    )
    assert go_value(rest) == "map[metadata:map[labels:map[b:1]] odd:[1 true 1.5]]"


NAMES = st.sampled_from("abcdef")
ITEM = st.builds(
    lambda name, rest: {"name": name, **rest},
    NAMES,
    st.fixed_dictionaries({}, optional={"image": st.sampled_from("xy")}),
)
ITEMS = st.lists(ITEM, unique_by=lambda item: item["name"], max_size=6)


@given(ITEMS, ITEMS, st.sets(NAMES))
def test_lists_against_a_model(
    live: list[Object], patched: list[Object], deleted: set[str]
) -> None:
    changes = [p for p in patched if p["name"] not in deleted]
    patch = changes + [{"name": n, "$patch": "delete"} for n in sorted(deleted)]
    made = pod(containers(*live), containers(*patch))["spec"]["containers"]

    by_name = {item["name"]: item for item in live if item["name"] not in deleted}
    expected = dict(by_name)
    for change in changes:
        expected[change["name"]] = {**by_name.get(change["name"], {}), **change}
    order = [item["name"] for item in made]
    assert {item["name"]: item for item in made} == expected and len(made) == len(expected)
    assert [n for n in order if n in {c["name"] for c in changes}] == [c["name"] for c in changes]
    untouched = [n for n in by_name if n not in {c["name"] for c in changes}]
    assert [n for n in order if n in untouched] == untouched


VALUES = st.recursive(
    st.integers(0, 2) | st.none(),
    lambda v: st.dictionaries(st.sampled_from("ab"), v, max_size=2),
    max_leaves=4,
)


@given(
    st.dictionaries(NAMES, st.sampled_from("xy")),
    st.dictionaries(NAMES, st.sampled_from("xy") | st.none()),
)
def test_maps_of_scalars_merge_like_merge_patches(labels: Object, patch: Object) -> None:
    made = pod({"metadata": {"labels": labels}}, {"metadata": {"labels": patch}})["metadata"][
        "labels"
    ]
    assert made == {k: v for k, v in {**labels, **patch}.items() if v is not None}
