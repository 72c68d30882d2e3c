"""Dynamic resource allocation: what claims, classes and slices may say, in kube-apiserver's
words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.meta.times import format_time
from tests.support.kindtools import NOW, create, typed, update

REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a "
    "subrequest separated by '/'"
)
PLACES = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required'
FAILURES = "bindingFailureConditions"


def make(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": "default"},
        "spec": spec,
    }


def claim(**devices: Any) -> dict[str, Any]:
    return make("ResourceClaim", {"devices": {"requests": [REQUEST], **devices}})


def exactly(**members: Any) -> list[str]:
    return create(
        claim(requests=[{"name": "r", "exactly": {"deviceClassName": "gpu", **members}}])
    ).messages


def test_defaults_of_requests() -> None:
    made = typed(
        claim(
            requests=[
                {"name": "r", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "k"}]}}
            ]
        )
    )
    entry = made["spec"]["devices"]["requests"][0]["exactly"]
    assert (entry["allocationMode"], entry["count"], entry["tolerations"][0]["operator"]) == (
        "ExactCount",
        1,
        "Equal",
    )


AT = "spec.devices.requests[0].exactly."


@pytest.mark.parametrize(
    ("members", "wrong"),
    [
        ({"selectors": [{"cel": {"expression": 'device.attributes["dra.example.com"].flag'}}]}, []),
        ({"selectors": [{"cel": {"expression": "device.allowMultipleAllocations"}}]}, []),
        ({"selectors": [{}]}, [AT + "selectors[0].cel: Required value"]),
        (
            {"selectors": [{"cel": {"expression": "device.driver"}}]},
            [
                AT
                + (
                    'selectors[0].cel.expression: Invalid value: "device.driver": must '
                    "evaluate to bool or the unknown type, not string"
                )
            ],
        ),
        ({"selectors": [{}] * 33}, [AT + "selectors: Too many: 33: must have at most 32 items"]),
        (
            {"allocationMode": "X"},
            [AT + 'allocationMode: Unsupported value: "X": supported values: "All", "ExactCount"'],
        ),
        (
            {"tolerations": [{"operator": "Exists", "value": "v"}]},
            [AT + 'tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`'],
        ),
        (
            {"tolerations": [{"operator": "X"}]},
            [
                AT
                + (
                    'tolerations[0].operator: Unsupported value: "X": supported values: "Equal", '
                    '"Exists"'
                )
            ],
        ),
        (
            {"tolerations": [{"effect": "X"}]},
            [
                AT
                + (
                    'tolerations[0].effect: Unsupported value: "X": supported values: '
                    '"NoExecute", "NoSchedule", "None"'
                )
            ],
        ),
    ],
)
def test_requests(members: dict[str, Any], wrong: list[str]) -> None:
    assert exactly(**members) == wrong


def test_a_selector_that_does_not_compile() -> None:
    [message] = exactly(selectors=[{"cel": {"expression": "device.speed > 1"}}])
    assert message.startswith(
        AT
        + (
            'selectors[0].cel.expression: Invalid value: "device.speed > 1": compilation failed: '
            "ERROR: <input>:1:7: "
        )
    )
    assert "undefined field 'speed'" in message


@pytest.mark.parametrize(
    ("devices", "wrong"),
    [
        ({"requests": [REQUEST, REQUEST]}, ['requests[1]: Duplicate value: "r"']),
        ({"constraints": [{"requests": ["r"], "matchAttribute": "example.com/a"}]}, []),
        (
            {"constraints": [{"requests": ["x"], "distinctAttribute": "example.com/a"}]},
            [f'constraints[0].requests[0]: Invalid value: "x": {REFERENCE}'],
        ),
        (
            {"constraints": [{"matchAttribute": "a"}]},
            [
                (
                    'constraints[0].matchAttribute: Invalid value: "a": a fully qualified name '
                    "must be a domain and a name separated by a slash"
                )
            ],
        ),
        (
            {"constraints": [{}]},
            [f"constraints[0]: Required value: {ONE_ATTRIBUTE}, but multiple fields are set"],
        ),
        (
            {
                "config": [
                    {"requests": ["r"], "opaque": {"driver": "d.example.com", "parameters": {}}}
                ]
            },
            [],
        ),
        (
            {"config": [{"requests": ["r/s/t"]}]},
            [
                f'config[0].requests[0]: Invalid value: "r/s/t": {REFERENCE}',
                "config[0].opaque: Required value",
            ],
        ),
        (
            {"config": [{"opaque": {"driver": "", "parameters": [1]}}]},
            [
                "config[0].opaque.driver: Required value",
                (
                    'config[0].opaque.parameters: Invalid value: "<value omitted>": must be a '
                    "valid JSON object"
                ),
            ],
        ),
    ],
)
def test_claims(devices: dict[str, Any], wrong: list[str]) -> None:
    assert create(claim(**devices)).messages == [f"spec.devices.{text}" for text in wrong]


def test_alternatives_may_be_named_in_references() -> None:
    request = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
    constraint = {"requests": ["r/s"], "matchAttribute": "example.com/a"}
    assert create(claim(requests=[request], constraints=[constraint])).messages == []
    constraint["requests"] = ["r/t"]
    assert create(claim(requests=[request], constraints=[constraint])).messages != []


def test_an_update_asks_for_nothing_but_the_same_spec() -> None:
    old = create(claim()).obj
    old["spec"]["devices"]["requests"][0]["name"] = "Valid Before"
    new = copy.deepcopy(old)
    assert update(new, old).messages == []
    new["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    [message] = update(new, old).messages
    assert message.startswith("spec: Invalid value: ") and message.endswith(": field is immutable")


RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "gpu-0"}
ALLOCATION = {"devices": {"results": [RESULT]}}
CONSUMER = {"resource": "pods", "name": "p", "uid": "u"}


@pytest.mark.parametrize(
    ("status", "wrong"),
    [
        ({"allocation": ALLOCATION, "reservedFor": [CONSUMER]}, []),
        (
            {"reservedFor": [CONSUMER]},
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
        ),
        (
            {"allocation": ALLOCATION, "reservedFor": [{"uid": "u", "name": "p"}]},
            ["status.reservedFor[0].resource: Required value"],
        ),
        (
            {"allocation": ALLOCATION, "reservedFor": [CONSUMER, CONSUMER]},
            ['status.reservedFor[1]: Duplicate value: "u"'],
        ),
        (
            {"allocation": {"devices": {"results": [{**RESULT, "request": "x"}]}}},
            [f'status.allocation.devices.results[0].request: Invalid value: "x": {REFERENCE}'],
        ),
        ({"allocation": ALLOCATION, "devices": [{**RESULT, "data": {"a": 1}}]}, []),
        (
            {
                "allocation": ALLOCATION,
                "devices": [{"driver": "d.example.com", "pool": "p", "device": "gpu-1"}],
            },
            [
                (
                    'status.devices[0]: Invalid value: {"Driver":"d.example.com","Pool":"p",'
                    '"Device":"gpu-1","ShareID":""}: must be an allocated device in the claim'
                )
            ],
        ),
    ],
)
def test_status(status: dict[str, Any], wrong: list[str]) -> None:
    old = create(claim()).obj
    assert update({**copy.deepcopy(old), "status": status}, old, "status").messages == wrong


def test_an_allocation_stays_until_it_is_taken_back() -> None:
    old = {**create(claim()).obj, "status": {"allocation": ALLOCATION}}
    new = copy.deepcopy(old)
    new["status"]["allocation"]["devices"]["results"][0]["device"] = "gpu-1"
    [message] = update(new, old, "status").messages
    assert message.startswith("status.allocation: Invalid value: ") and message.endswith(
        ": field is immutable"
    )
    new["status"] = {}
    assert update(new, old, "status").messages == []


def test_classes() -> None:
    spec = {
        "selectors": [{"cel": {"expression": "1"}}],
        "config": [{}],
        "extendedResourceName": "gpu",
    }
    assert create(make("DeviceClass", spec)).messages == [
        (
            'spec.selectors[0].cel.expression: Invalid value: "1": must evaluate to bool or the '
            "unknown type, not int"
        ),
        "spec.config[0].opaque: Required value",
        'spec.extendedResourceName: Invalid value: "gpu": must be a valid extended resource name',
    ]


def test_templates_hold_labels_and_claims_to_their_rules() -> None:
    spec = {"metadata": {"labels": {"a": "-"}}, "spec": {"devices": {"requests": [{"name": "r"}]}}}
    label, request = create(make("ResourceClaimTemplate", spec)).messages
    assert label.startswith('spec.metadata.labels: Invalid value: "-": ')
    assert request == (
        "spec.spec.devices.requests[0]: Required value: exactly one of `exactly` or "
        "`firstAvailable` is required"
    )


def device_slice(**spec: Any) -> dict[str, Any]:
    pool = {"name": "p", "resourceSliceCount": 1}
    return make("ResourceSlice", {"driver": "d.example.com", "pool": pool, "nodeName": "n", **spec})


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"nodeName": None}, [f"spec: Required value: {PLACES}"]),
        (
            {"allNodes": True},
            [
                (
                    f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {PLACES}, but multiple '
                    f"fields are set"
                )
            ],
        ),
        (
            {"nodeName": None, "allNodes": False},
            [
                "spec.allNodes: Invalid value: false: must be either unset or set to true",
                f"spec: Required value: {PLACES}",
            ],
        ),
        ({"devices": [{"name": "a"}, {"name": "a"}]}, ['spec.devices[1]: Duplicate value: "a"']),
        (
            {"devices": [{"name": "a", "attributes": {"v": {"version": "1"}, "x": {}}}]},
            [
                (
                    'spec.devices[0].attributes[v].version: Invalid value: "1": must be a string '
                    "compatible with semver.org spec 2.0.0"
                ),
                (
                    'spec.devices[0].attributes[x]: Invalid value: "": exactly one value must be '
                    "specified"
                ),
            ],
        ),
        (
            {"devices": [{"name": "a", "allNodes": True}]},
            [
                "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` "
                "can only be set if "
                "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            ],
        ),
        (  # names at the map, however long; what is below them at the name, shortened
            {"devices": [{"name": "a", "attributes": {"a" * 97: {}}}]},
            [
                "spec.devices[0].attributes: Too long: may not be more than 32 bytes",
                f'spec.devices[0].attributes[{"a" * 47}...{"a" * 46}]: Invalid value: "": exactly '
                "one value must be specified",
            ],
        ),
        (
            {"devices": None, "sharedCounters": [{"name": "c", "counters": {"": {"value": "1"}}}]},
            [
                'spec.sharedCounters[0].counters: Invalid value: "": a lowercase RFC 1123 label '
                "must consist of lower case alphanumeric characters or '-', and must start and end "
                "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
                "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ],
        ),
        (
            {"devices": [{"name": "a"}], "sharedCounters": [{"name": "c"}]},
            [
                'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
                "spec.sharedCounters[0].counters: Required value",
            ],
        ),
        (
            {"devices": [{"name": f"d{i}"} for i in range(129)]},
            ["spec.devices: Too many: 129: must have at most 128 items"],
        ),
        (
            {
                "devices": [
                    {"name": f"d{i}", "taints": [{"key": "k", "effect": "NoExecute"}]}
                    for i in range(65)
                ]
            },
            ["spec.devices: Too many: 65: must have at most 64 items"],
        ),
        (
            {"devices": [{"name": "a", "bindingConditions": ["c"]}]},
            [
                (
                    f"spec.devices[0].{FAILURES}: Invalid value: null: {FAILURES} are required to "
                    "use bindingConditions"
                )
            ],
        ),
    ],
)
def test_slices(spec: dict[str, Any], wrong: list[str]) -> None:
    assert create(device_slice(**spec)).messages == wrong


def test_slices_keep_to_their_driver_pool_and_node() -> None:
    old = create(device_slice()).obj
    new = copy.deepcopy(old)
    new["spec"] |= {"driver": "e", "nodeName": "m", "pool": {"name": "q", "resourceSliceCount": 1}}
    assert update(new, old).messages == [
        'spec.pool.name: Invalid value: "q": field is immutable',
        'spec.driver: Invalid value: "e": field is immutable',
        'spec.nodeName: Invalid value: "m": field is immutable',
    ]


def test_taints_are_dated() -> None:
    made = create(
        device_slice(devices=[{"name": "a", "taints": [{"key": "k", "effect": "NoExecute"}]}])
    ).obj
    assert made["spec"]["devices"][0]["taints"][0]["timeAdded"] == format_time(NOW)


def slice_of(**device: Any) -> dict[str, Any]:
    pool = {"name": "p", "resourceSliceCount": 1}
    spec = {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": [{"name": "d", **device}]}
    return make("ResourceSlice", spec)


@pytest.mark.parametrize(
    ("attribute", "left", "wrong"),
    [
        ({"int": 1, "ints": [1]}, {"int": 1}, ""),
        ({"bool": False, "strings": ["a"], "versions": ["1.0.0"]}, {"bool": False}, ""),
        ({"bools": [True]}, {}, '""'),
        (
            {"int": 1, "bool": True},
            {"int": 1, "bool": True},
            '{"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,'
            '"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}',
        ),
    ],
)
def test_attributes_are_no_lists(
    attribute: dict[str, Any], left: dict[str, Any], wrong: str
) -> None:
    made = create(slice_of(attributes={"a": attribute}))
    assert made.obj["spec"]["devices"][0]["attributes"] == {"a": left}
    assert made.messages == (
        [
            f"spec.devices[0].attributes[a]: Invalid value: {wrong}: "
            "exactly one value must be specified"
        ]
        if wrong
        else []
    )


def test_a_node_gives_no_resources_through_devices() -> None:
    mapped = slice_of(nodeAllocatableResourceMappings={"cpu": {"capacityKey": "x"}})
    stored = create(mapped).obj
    assert stored["spec"]["devices"] == [{"name": "d"}]
    assert update({**stored, "spec": mapped["spec"]}, stored).obj["spec"] == stored["spec"]


@pytest.mark.parametrize(("count", "limits"), [(32, []), (33, [32]), (48, [32]), (49, [32, 48])])
def test_attributes_are_counted_twice(count: int, limits: list[int]) -> None:
    told = create(slice_of(attributes={f"a{i}": {"int": i} for i in range(count)})).messages
    what = {32: "attributes and capacities", 48: "attribute values"}
    assert told == [
        f"spec.devices[0]: Invalid value: {count}: the total number of {what[limit]} "
        f"must not exceed {limit}"
        for limit in limits
    ]
