"""Where proxies of pods and services lead, case by case of kubernetes' ResourceLocation."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.errors import ApiError
from apiserver.kinds.core import proxies


def said(call: Any, *args: Any) -> tuple[int, str] | None:
    try:
        call(*args)
    except ApiError as error:
        return error.code, error.message
    return None


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        ("s", ("s", "", None)),
        ("s:80", ("s", "80", 80)),
        ("s:web", ("s", "web", None)),
        ("https:s:443", ("s", "443", 443)),
        ("http:s:", ("s", "", None)),
        (":s:80", ("s", "80", 80)),
        ("ftp:s:21", None),
        ("http::80", None),
        (":80", None),
        ("http:s:80:x", None),
    ],
)
def test_a_name_may_hold_scheme_and_port(
    asked: str, target: tuple[str, str, int | None] | None
) -> None:
    if target is None:
        refused = said(proxies.target_of, "service", asked)
        assert refused == (400, f'invalid service request "{asked}"')
    else:
        found = proxies.target_of("service", asked)
        assert (*found, found.number) == target


@pytest.mark.parametrize(
    ("ip", "reached"),
    [("10.0.0.9", True), ("fd00::9", True), ("127.0.0.1", False), ("169.254.1.1", False)],
)
def test_a_pods_address_must_lead_somewhere(ip: str, reached: bool) -> None:
    refused = None if reached else (400, "address not allowed")
    assert said(proxies.check_pod, {"status": {"podIPs": [{"ip": ip}]}}) == refused


@pytest.mark.parametrize("pod", [{}, {"status": {}}, {"status": {"podIPs": [{}]}}])
def test_a_pod_without_address_is_not_reached(pod: dict[str, Any]) -> None:
    assert said(proxies.check_pod, pod) == (400, "address not allowed")


def test_a_port_is_asked_for_by_its_number() -> None:
    ports = [{"port": 80}, {"port": 443, "name": "https"}]
    service = {"metadata": {"name": "s"}, "spec": {"ports": ports}}
    assert [proxies.port_name(service, number) for number in (80, 443)] == ["", "https"]
    refused = (503, 'no service port 81 found for service "s"')
    assert said(proxies.port_name, service, 81) == refused


def subset(*ports: str, namespace: str = "ns") -> dict[str, Any]:
    target = {"kind": "Pod", "namespace": namespace, "name": "p"}
    return {
        "addresses": [{"ip": "10.0.0.9", "targetRef": target}],
        "ports": [{"name": name, "port": 1} for name in ports],
    }


@pytest.mark.parametrize(
    ("subsets", "reached"),
    [
        ([subset("web")], True),
        ([subset("other"), subset("other", "web")], True),
        ([subset("other")], False),
        ([subset("web", namespace="elsewhere")], False),
        ([{**subset("web"), "addresses": [{"ip": "10.0.0.9"}]}], False),
        ([{**subset("web"), "addresses": []}], False),
    ],
)
def test_a_ready_pod_of_the_namespace_must_listen(
    subsets: list[dict[str, Any]], reached: bool
) -> None:
    endpoints = {"metadata": {"name": "s", "namespace": "ns"}, "subsets": subsets}
    refused = None if reached else (503, 'no endpoints available for service "s:web"')
    assert said(proxies.check_endpoints, endpoints, "s:web", "web") == refused


def test_without_endpoints_the_service_is_named_alone() -> None:
    endpoints = {"metadata": {"name": "s", "namespace": "ns"}}
    refused = (503, 'no endpoints available for service "s"')
    assert said(proxies.check_endpoints, endpoints, "http:s:web", "web") == refused
