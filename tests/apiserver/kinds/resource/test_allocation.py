"""What drivers tell of devices, after validateDeviceStatus of kubernetes 1.34."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.kindtools import create, update

DEVICE = {"driver": "d.io", "pool": "p", "device": "d"}
SHARE = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"


def told(device: dict[str, Any], share: str | None = None) -> list[str]:
    shared = {} if share is None else {"shareID": share}
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    spec = {"devices": {"requests": [request]}}
    old = create({**kind, "metadata": {"name": "c"}, "spec": spec}).obj
    new = copy.deepcopy(old)
    new["status"] = {
        "allocation": {"devices": {"results": [{**DEVICE, "request": "r", **shared}]}},
        "devices": [{**DEVICE, **shared, **device}],
    }
    return update(new, old, "status").messages


def test_a_device_that_is_not_allocated_is_quoted_with_its_share() -> None:
    at, text = "status.devices[0]", "must be an allocated device in the claim"
    quoted = '{"Driver":"d.io","Pool":"p","Device":"e","ShareID":"%s"}'
    for share in (None, SHARE):
        assert told({"device": "e"}, share) == [
            f"{at}: Invalid value: {quoted % (share or '')}: {text}"
        ]


def test_a_device_in_the_network() -> None:
    at = "status.devices[0].networkData"
    data = {
        "interfaceName": "i" * 257,
        "hardwareAddress": "h" * 129,
        "ips": ["10.0.0.1/24", "10.0.0.1", "fd00::0:1/64", "::ffff:10.0.0.1/120", "10.0.0.1/24"],
    }
    assert told({"networkData": data}) == [
        f"{at}.interfaceName: Too long: may not be more than 256 bytes",
        f"{at}.hardwareAddress: Too long: may not be more than 128 bytes",
        f'{at}.ips[1]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. '
        "10.9.8.7/24 or 2001:db8::1/64)",
        f'{at}.ips[2]: Invalid value: "fd00::0:1/64": must be in canonical form ("fd00::1/64")',
        f'{at}.ips[3]: Invalid value: "::ffff:10.0.0.1/120": must be in canonical form '
        '("10.0.0.1/24")',
        f'{at}.ips[4]: Duplicate value: "10.0.0.1/24"',
    ]
    assert told({"networkData": {"ips": [f"10.0.0.{n}/24" for n in range(17)]}}) == [
        f"{at}.ips: Too many: 17: must have at most 16 items"
    ]


def test_conditions_of_a_device() -> None:
    messages = told({"conditions": [{"type": "Ready", "status": "Maybe"}]})
    assert [m.split(":")[0] for m in messages] == [
        f"status.devices[0].conditions[0].{member}"
        for member in ("status", "lastTransitionTime", "reason")
    ]


def test_shares_have_normal_uids() -> None:
    assert told({}, SHARE) == []
    for at in ("status.devices[0]", "status.allocation.devices.results[0]"):
        assert (
            f'{at}.shareID: Invalid value: "x": error validating uid: invalid UUID length: 1'
        ) in told({}, "x")
        assert any(
            m.startswith(f"{at}.shareID: ") and "RFC 4122" in m for m in told({}, SHARE.upper())
        )
