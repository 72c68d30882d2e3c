"""What an Ingress's spec must be (kubernetes ``pkg/apis/networking/validation``)."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath, invalid, not_supported, required
from apiserver.kinds.common import checks as c
from apiserver.kinds.formats import parse_ip
from apiserver.meta import names
from apiserver.meta.objects import Object

_PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"]
_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_SUFFIXES = ("/..", "/.")


def spec_errors(spec: Object, old: Object | None, path: FieldPath) -> c.Errors:
    """``old``: the stored spec; what is wrong there already may stay."""
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid(
            path, spec.get("rules"), "either `defaultBackend` or `rules` must be specified"
        )
    if backend is not None:
        yield from _backend(backend, path.child("defaultBackend"))
    lenient_wildcards = any(
        "*" in r.get("host", "") and any(True for _ in _http(r, path))
        for r in (old or {}).get("rules") or []
    )
    for i, rule in enumerate(rules):
        yield from _rule(rule, path.child("rules").at(i), lenient_wildcards)
    lenient_secrets = any(_secret_name(tls) for tls in (old or {}).get("tls") or [])
    for i, tls in enumerate(spec.get("tls") or []):
        at = path.child("tls").at(i)
        for j, host in enumerate(tls.get("hosts") or []):
            yield from _host(host, at.child("hosts").at(j))
        for text in [] if lenient_secrets else _secret_name(tls):
            yield invalid(at.child("secretName"), tls["secretName"], text)
    if spec.get("ingressClassName") is not None:
        yield from c.dns_subdomain(spec["ingressClassName"], path.child("ingressClassName"))


def _secret_name(tls: Object) -> list[str]:
    return names.dns1123_subdomain(tls["secretName"]) if tls.get("secretName") else []


def _host(host: str, path: FieldPath) -> c.Errors:
    yield from c.name(
        host, path, names.wildcard_dns1123_subdomain if "*" in host else names.dns1123_subdomain
    )


def _rule(rule: Object, path: FieldPath, lenient_wildcards: bool) -> c.Errors:
    host = rule.get("host", "")
    if host:
        if parse_ip(host) is not None:
            yield invalid(path.child("host"), host, "must be a DNS name, not an IP address")
        yield from _host(host, path.child("host"))
    if not ("*" in host and lenient_wildcards):
        yield from _http(rule, path)


def _http(rule: Object, path: FieldPath) -> c.Errors:
    http = rule.get("http")
    if http is None:
        return
    paths, at = http.get("paths") or [], path.child("http", "paths")
    if not paths:
        yield required(at)
    for i, entry in enumerate(paths):
        yield from _path(entry, at.at(i))


def _path(entry: Object, path: FieldPath) -> c.Errors:
    kind, text, at = entry.get("pathType"), entry.get("path", ""), path.child("path")
    if kind is None:
        yield required(path.child("pathType"), "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(path.child("pathType"), kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid(at, text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for sequence in _SEQUENCES:
            if sequence in text:
                yield invalid(at, text, f"must not contain '{sequence}'")
        for suffix in _SUFFIXES:
            if text.endswith(suffix):
                yield invalid(at, text, f"cannot end with '{suffix}'")
    yield from _backend(entry.get("backend") or {}, path.child("backend"))


def _backend(backend: Object, path: FieldPath) -> c.Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from reference_errors(resource, path.child("resource"))
    elif service is None:
        yield invalid(path, "", "resource or service backend is required")
    else:
        yield from _service(service, path)


def _service(service: Object, path: FieldPath) -> c.Errors:
    at = path.child("service")
    if not service.get("name"):
        yield required(at.child("name"))
    else:
        yield from c.name(service["name"], at.child("name"), names.dns1123_label)
    port = service.get("port") or {}
    name, number = port.get("name", ""), port.get("number", 0)
    if name and number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif name:
        yield from c.port(name, at.child("port", "name"))
    elif number:
        yield from c.port_number(number, at.child("port", "number"))
    else:
        yield required(path, "port name or number is required")


def reference_errors(reference: Object, path: FieldPath) -> c.Errors:
    """A typed reference: apiGroup, kind and name."""
    if reference.get("apiGroup") is not None:
        yield from c.dns_subdomain(reference["apiGroup"], path.child("apiGroup"))
    for member in ("kind", "name"):
        if not reference.get(member):
            yield required(path.child(member))
        else:
            yield from c.name(reference[member], path.child(member), names.path_segment)
