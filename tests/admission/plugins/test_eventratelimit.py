from __future__ import annotations

from typing import Any

import pytest

from admission.attributes import Attributes
from admission.config import ConfigError, Section
from admission.plugins.eventratelimit import EventRateLimit, Limit, read
from apiserver.flow.buckets import Buckets
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.plugins import asked, refusal, run

EVENTS = GroupResource("", "events")


def event(name: str = "e", host: str = "h") -> Object:
    about = {"kind": "Pod", "namespace": "ns", "name": name, "uid": "u", "apiVersion": "v1"}
    source = {"component": "c", "host": host}
    return {"metadata": {"name": "x"}, "source": source, "involvedObject": about}


def written(obj: Object | None = None, **more: Any) -> Attributes:
    return asked(obj or event(), resource=EVENTS, kind="Event", **more)


def limiting(*limits: Limit) -> EventRateLimit:
    return EventRateLimit(limits, Buckets())


@pytest.mark.parametrize(
    ("type", "first", "same", "other", "key"),
    [
        ("Server", written(), written(namespace="b"), written(tenant=2), ""),
        ("Namespace", written(), written(user=User("v")), written(namespace="b"), "ns"),
        ("User", written(), written(namespace="b"), written(user=User("v")), "u"),
        (
            "SourceAndObject",
            written(),
            written(user=User("v")),
            written(event("f")),
            "chPodnseuv1",
        ),
    ],
)
async def test_each_has_a_bucket(
    type: str, first: Attributes, same: Attributes, other: Attributes, key: str
) -> None:
    plugin = limiting(Limit(type, qps=1, burst=1))
    await run(plugin, first)
    error = await refusal(plugin, same)
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.message == f"Too many requests: limit reached on type {type} for key {key}"
    await run(plugin, other)


async def test_no_tenant_draws_from_a_neighbour() -> None:
    plugin = limiting(*(Limit(t, 1, 1) for t in ("Server", "Namespace", "User", "SourceAndObject")))
    await run(plugin, written(tenant=1))
    for _ in range(50):
        await refusal(plugin, written(tenant=1))
    await run(plugin, written(tenant=2))


async def test_every_limit_counts_and_the_last_is_told() -> None:
    plugin = limiting(Limit("Server", 1, 1), Limit("User", 1, 2))
    await run(plugin, written())
    assert "type Server" in (await refusal(plugin, written())).message
    assert "type User" in (await refusal(plugin, written())).message


async def test_updates_count_and_other_kinds_do_not() -> None:
    plugin = limiting(Limit("Server", 1, 1))
    await run(plugin, asked(event(), event(), resource=EVENTS, kind="Event"))
    await refusal(plugin, written())
    other = GroupResource("events.k8s.io", "events")
    await run(plugin, asked(event(), resource=other, kind="Event"))
    await run(plugin, asked(event()))


DOCUMENT: Object = {
    "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
    "kind": "Configuration",
}


def test_the_configuration_is_read() -> None:
    limits = [{"type": "Server", "qps": 5, "burst": 10, "cacheSize": 100}]
    assert read(Section({**DOCUMENT, "limits": limits})) == (Limit("Server", 5, 10),)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (None, "limits must not be empty"),
        ([{"type": "Tenant"}], r"limits\[0\]\.type must be one of Server, Namespace, User, Source"),
        ([{"type": "User", "qps": 1}], r"limits\[0\]\.burst must be positive"),
        ([{"type": "User", "qps": -1, "burst": 1}], r"limits\[0\]\.qps must be positive"),
        ([{"type": "User", "qps": "1", "burst": 1}], r"limits\[0\]\.qps must be a whole number"),
        (
            [{"type": "User", "qps": 1, "burst": 1, "cacheSize": -1}],
            r"limits\[0\]\.cacheSize must not be negative",
        ),
        ([{"type": "User", "qps": 1, "burst": 1, "x": 1}], r"limits\[0\]\.x is no field"),
    ],
)
def test_a_wrong_configuration_is_refused(limits: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read(Section({**DOCUMENT, "limits": limits}))
