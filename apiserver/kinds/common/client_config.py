"""How a webhook is reached: a URL or a Service (k8s.io/apiserver
``pkg/util/webhook/validation.go``). Conversion webhooks use it too."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath, invalid, required
from apiserver.golang.url import UrlError, parse_url
from apiserver.kinds.common import checks as c
from apiserver.meta import names
from apiserver.meta.objects import Object

_FORM = "; desired format: https://host[/path]"


def default_client_config(config: Object | None) -> None:
    service = (config or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def client_config_errors(config: Object, path: FieldPath) -> c.Errors:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, path.child("url"))
    elif service is not None:
        yield from _service(service, path.child("service"))


def _url(url: str, path: FieldPath) -> c.Errors:
    try:
        parts = parse_url(url)
    except UrlError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not parts.host:
        yield invalid(path, "", f"host must be specified{_FORM}")
    if parts.user is not None:
        yield invalid(path, parts.user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service(service: Object, path: FieldPath) -> c.Errors:
    # Upstream swaps the two: a missing name is reported as a missing namespace.
    for member, reported in (("name", "namespace"), ("namespace", "name")):
        if not service.get(member):
            yield required(path.child(reported))
    port = service.get("port", 0)
    wrong = names.port_number(port)
    if wrong:
        yield invalid(path.child("port"), port, f"port is not valid: {','.join(wrong)}")
    yield from _path(service.get("path"), path.child("path"))


def _path(value: str | None, path: FieldPath) -> c.Errors:
    if value in (None, "", "/"):
        return
    text = str(value)
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    for i, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(path, text, f"segment[{i}] may not be empty")
            continue
        for why in names.dns1123_subdomain(segment):
            yield invalid(path, text, f"segment[{i}]: {why}")
