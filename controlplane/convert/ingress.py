"""Ingresses of extensions/v1beta1 and networking.k8s.io/v1beta1 to networking.k8s.io/v1."""

from __future__ import annotations

from apiserver.meta.objects import Object
from controlplane.convert.rule import Conversion, as_list, as_object, rename


def ingress(conversion: Conversion) -> None:
    if "spec" not in conversion.obj:
        return
    spec = conversion.spec
    rename(spec, "backend", "defaultBackend")
    default = as_object(spec, "defaultBackend")
    if default is not None:
        _backend(default)
    for i, rule in enumerate(as_list(spec.get("rules"))):
        for j, path in enumerate(as_list((as_object(rule, "http") or {}).get("paths"))):
            backend = as_object(path, "backend")
            if backend is not None:
                _backend(backend)
            conversion.keep_default(
                path, "pathType", "ImplementationSpecific", f"spec.rules[{i}].http.paths[{j}]"
            )


def _backend(backend: Object) -> None:
    """serviceName and servicePort become service.name and service.port.number or .name; a resource
    stays as it is."""
    name, port = backend.pop("serviceName", None), backend.pop("servicePort", None)
    if name is None and port is None:
        return
    service: Object = {} if name is None else {"name": name}
    if isinstance(port, int):
        service["port"] = {"number": port}
    elif isinstance(port, str):
        service["port"] = (
            {"number": int(port)} if port.isascii() and port.isdigit() else {"name": port}
        )
    backend["service"] = service
