"""Status of a claim: for whom it is reserved, which devices it was given, and what drivers tell of
them."""

from __future__ import annotations

from apiserver.fielderrors import (
    FieldPath,
    GoSyntax,
    forbidden,
    go_json,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from apiserver.golang.uuid import uuid_problem
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import metaconditions
from apiserver.kinds.common.addresses import interface_address_errors
from apiserver.kinds.common.scheduling import node_selector
from apiserver.kinds.resource import devices as d
from apiserver.kinds.resource.requests import references
from apiserver.meta.objects import Object, frozen

_STATUS = FieldPath("status")
_MOST_CONSUMERS, _MOST_RESULTS, _MOST_CONDITIONS, _DATA_BYTES = 256, 32, 8, 10 * 1024
_MOST_ADDRESSES, _UUID_LENGTH = 16, 36
_NOT_NORMAL = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
    "lowercase hexadecimal characters"
)
_SOURCES = ["FromClaim", "FromClass"]
_NOT_WHILE_DELETED = (
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
)


def status_errors(status: Object, old: Object, names: d.Names, *, deleted: bool) -> c.Errors:
    consumers, at = status.get("reservedFor") or [], _STATUS.child("reservedFor")
    allocation, before = status.get("allocation"), old.get("allocation")
    yield from d.each_once(
        consumers, _MOST_CONSUMERS, _consumer, lambda ref: ref.get("uid") or "", at
    )
    yield from _devices(status.get("devices") or [], allocation or {})
    if consumers and allocation is None:
        yield forbidden(at, "may not be specified when `allocated` is not set")
    elif deleted and not set(map(frozen, consumers)) <= set(
        map(frozen, old.get("reservedFor") or [])
    ):
        yield forbidden(at, _NOT_WHILE_DELETED)
    if before is not None and allocation is not None:
        yield from c.immutable(allocation, before, _STATUS.child("allocation"))
    elif allocation is not None:
        yield from _allocation(allocation, _STATUS.child("allocation"), names)


def _consumer(ref: Object, path: FieldPath) -> c.Errors:
    for member in ("resource", "name", "uid"):
        if not ref.get(member):
            yield required(path.child(member))


def _allocation(allocation: Object, path: FieldPath, names: d.Names) -> c.Errors:
    def result(value: Object, where: FieldPath) -> c.Errors:
        yield from d.request_reference(value.get("request") or "", where.child("request"), names)
        yield from d.driver_name(value.get("driver") or "", where.child("driver"))
        yield from d.pool_name(value.get("pool") or "", where.child("pool"))
        yield from c.dns_label(value.get("device") or "", where.child("device"))
        yield from d.binding_conditions(value, where)
        yield from _share(value, where)

    def config(value: Object, where: FieldPath) -> c.Errors:
        source = value.get("source") or ""
        if not source:
            yield required(where.child("source"))
        elif source not in _SOURCES:
            yield not_supported(where.child("source"), source, _SOURCES)
        yield from references(value, where, names)
        yield from d.configuration(value, where)

    given, at = allocation.get("devices") or {}, path.child("devices")
    yield from d.each(given.get("results"), _MOST_RESULTS, result, at.child("results"))
    yield from d.each(given.get("config"), 2 * d.MOST_CONFIGS, config, at.child("config"))
    if allocation.get("nodeSelector") is not None:
        yield from node_selector(allocation["nodeSelector"], path.child("nodeSelector"))


def _share(value: Object, path: FieldPath) -> c.Errors:
    share, at = value.get("shareID"), path.child("shareID")
    if share is None:
        return
    problem = uuid_problem(share)
    if problem:
        yield invalid(at, share, f"error validating uid: {problem}")
    elif len(share) != _UUID_LENGTH or share != share.lower():
        yield invalid(at, share, _NOT_NORMAL)


def _network(data: Object, path: FieldPath) -> c.Errors:
    """What a device is as a network interface (KEP-4817)."""
    for member, most in (("interfaceName", 256), ("hardwareAddress", 128)):
        if len((data.get(member) or "").encode()) > most:
            yield too_long(path.child(member), most)
    yield from d.each_once(
        data.get("ips"), _MOST_ADDRESSES, interface_address_errors, str, path.child("ips")
    )


def _identity(device: Object) -> str:
    """driver/pool/device, and the share where the device is shared."""
    parts = _device(device)
    return "/".join((*parts, device["shareID"]) if device.get("shareID") else parts)


def _shared_id(device: Object) -> GoSyntax:
    """Of a device's Go struct SharedDeviceID, which has names of its own."""
    driver, pool, name = _device(device)
    share = device.get("shareID") or ""
    return GoSyntax(go_json({"Driver": driver, "Pool": pool, "Device": name, "ShareID": share}))


def of_allocated(status: Object, old: Object) -> list[Object]:
    """The ``devices`` of a claim's status without those whose allocation it takes away."""

    def results(one: Object) -> set[tuple[str, ...]]:
        given = (one.get("allocation") or {}).get("devices") or {}
        return {_device(result) for result in given.get("results") or ()}

    gone = results(old) - results(status)
    return [device for device in status.get("devices") or () if _device(device) not in gone]


def _device(value: Object) -> tuple[str, ...]:
    """Whatever share of it is meant."""
    return tuple(value.get(member) or "" for member in ("driver", "pool", "device"))


def _devices(devices: list[Object], allocation: Object) -> c.Errors:
    given = {_identity(result) for result in (allocation.get("devices") or {}).get("results") or ()}

    def device(value: Object, path: FieldPath) -> c.Errors:
        yield from d.driver_name(value.get("driver") or "", path.child("driver"))
        yield from d.pool_name(value.get("pool") or "", path.child("pool"))
        yield from c.dns_label(value.get("device") or "", path.child("device"))
        yield from _share(value, path)
        if _identity(value) not in given:
            yield invalid(path, _shared_id(value), "must be an allocated device in the claim")
        if len(value.get("conditions") or ()) > _MOST_CONDITIONS:
            yield too_many(path.child("conditions"), len(value["conditions"]), _MOST_CONDITIONS)
        yield from metaconditions.validate(value.get("conditions") or (), path.child("conditions"))
        if value.get("data") is not None:
            yield from d.raw_object(value["data"], path.child("data"), _DATA_BYTES)
        yield from _network(value.get("networkData") or {}, path.child("networkData"))

    return d.each_once(devices, len(devices), device, _identity, _STATUS.child("devices"))
