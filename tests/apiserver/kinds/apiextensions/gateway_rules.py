"""For each rule of gateway-api's definitions, by its message, a value of ``self`` that breaks it.
What else is required is filled in."""

from __future__ import annotations

from typing import Any

_SAN, _HEADERS = (
    {"type": "Hostname", "hostname": "a.b"},
    {"requestHeaderModifier": {}, "type": "RequestHeaderModifier"},
)
_BACKEND = {"name": "a", "port": 1}
_HOST, _CERT = {"type": "Hostname", "value": "a.b"}, {"group": "", "kind": "ConfigMap", "name": "a"}
_REDIRECT: dict[str, Any] = {"type": "RequestRedirect", "requestRedirect": {}}
_REWRITE: dict[str, Any] = {"type": "URLRewrite", "urlRewrite": {}}
_PREFIX = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/a"}}
_REDIRECT_PREFIX, _REWRITE_PREFIX = (
    {**_REDIRECT, "requestRedirect": _PREFIX},
    {**_REWRITE, "urlRewrite": _PREFIX},
)
_TWO_MATCHES = [
    {"path": {"type": "PathPrefix", "value": "/a"}},
    {"path": {"type": "PathPrefix", "value": "/b"}},
]
_PARENT = {"name": "a", "group": "gateway.networking.k8s.io", "kind": "Gateway"}
_TARGET = {"group": "", "kind": "Service", "name": "a"}
_NAME = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_PATH = r"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$"
_SEGMENT = (
    "keys must be in the form of an optional DNS subdomain prefix followed by a required "
    "name segment of up to 63 characters."
)
_TYPES = "when type one of ['Exact', 'PathPrefix']"
_FILTERS = {
    "requestHeaderModifier": {},
    "responseHeaderModifier": {},
    "extensionRef": {"group": "g", "kind": "K", "name": "a"},
}
_FILTERS |= {
    "requestMirror": {"backendRef": _BACKEND},
    "cors": {},
    "requestRedirect": {},
    "urlRewrite": {},
}
_FILTERS["externalAuth"] = {"protocol": "HTTP", "http": {}, "backendRef": _BACKEND}
_TYPE_OF = {
    name: "CORS"
    if name == "cors"
    else "URLRewrite"
    if name == "urlRewrite"
    else name[0].upper() + name[1:]
    for name in _FILTERS
}


def _path(value: str) -> dict[str, str]:
    return {"type": "PathPrefix", "value": value}


BREAKING: dict[str, Any] = {
    "sectionName must be specified when targetRefs includes 2 or more references to the same "
    "target": [
        _TARGET,
        {**_TARGET, "sectionName": "a"},
    ],
    "sectionName must be unique when targetRefs includes 2 or more references to the same target": [
        _TARGET,
        _TARGET,
    ],
    "must not contain both CACertificateRefs and WellKnownCACertificates": {
        "caCertificateRefs": [_CERT],
        "wellKnownCACertificates": "System",
    },
    "must specify either CACertificateRefs or WellKnownCACertificates": {},
    "SubjectAltName element must contain Hostname, if Type is set to Hostname": {
        "type": "Hostname"
    },
    "SubjectAltName element must not contain Hostname, if Type is not set to Hostname": {
        **_SAN,
        "type": "URI",
        "uri": "spiffe://a/b",
    },
    "SubjectAltName element must contain URI, if Type is set to URI": {"type": "URI"},
    "SubjectAltName element must not contain URI, if Type is not set to URI": {
        **_SAN,
        "uri": "spiffe://a/b",
    },
    "IPAddress values must be unique": [{"type": "IPAddress", "value": "10.0.0.1"}] * 2,
    "Hostname values must be unique": [_HOST, _HOST],
    f"Hostname value must be empty or contain only valid characters (matching {_NAME})": {
        "type": "Hostname",
        "value": "a_b",
    },
    f"Hostname value must only contain valid characters (matching {_NAME})": {
        "type": "Hostname",
        "value": "a_b",
    },
    f"Annotation {_SEGMENT}": {"a_": "x"},
    f"Label {_SEGMENT}": {"a_": "x"},
    "If specified, the annotation key's prefix must be a DNS subdomain not longer than 253 "
    "characters in total.": {"a" * 253 + "/b": "x"},
    "If specified, the label key's prefix must be a DNS subdomain not longer than 253 characters "
    "in total.": {"a" * 253 + "/b": "x"},
    "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']": [
        {"protocol": "HTTP", "port": 80, "tls": {}}
    ],
    "tls mode must be Terminate for protocol HTTPS": [
        {"protocol": "HTTPS", "port": 80, "tls": {"mode": "Passthrough"}}
    ],
    "tls mode must be set for protocol TLS": [{"protocol": "TLS", "port": 80}],
    "hostname must not be specified for protocols ['TCP', 'UDP']": [
        {"protocol": "TCP", "port": 80, "hostname": "a.b"}
    ],
    "Listener name must be unique within the Gateway": [
        {"name": "a", "port": 1, "protocol": "HTTP"}
    ]
    * 2,
    "Combination of port, protocol and hostname must be unique for each listener": [
        {"name": "a", "port": 1, "protocol": "HTTP"},
        {"name": "b", "port": 1, "protocol": "HTTP"},
    ],
    "certificateRefs or options must be specified when mode is Terminate": {
        "mode": "Terminate",
        "certificateRefs": [],
        "options": {},
    },
    "Port for TLS configuration must be unique within the Gateway": [{"port": 1}, {"port": 1}],
    "sectionName or port must be specified when parentRefs includes 2 or more references to the "
    "same parent": [
        _PARENT,
        {**_PARENT, "sectionName": "a"},
    ],
    "sectionName or port must be unique when parentRefs includes 2 or more references to the same "
    "parent": [
        _PARENT,
        _PARENT,
    ],
    "While 16 rules and 64 matches per rule are allowed, the total number of matches across all "
    "rules in a route must be less than 128": [
        {"matches": [{}] * 64},
        {"matches": [{}] * 64},
        {"matches": [{}]},
    ],
    "Rule name must be unique within the route": [{"name": "a"}, {"name": "a"}],
    "Must have port for Service reference": {"name": "a", "group": "", "kind": "Service"},
    "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter": {
        "percent": 1,
        "fraction": {"numerator": 1},
    },
    "numerator must be less than or equal to denominator": {"numerator": 2, "denominator": 1},
    "One or both of 'service' or 'method' must be specified": {"type": "Exact"},
    r"service must only contain valid characters (matching "
    r"^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$)": {"service": "a-b"},
    "method must only contain valid characters (matching ^[A-Za-z_][A-Za-z_0-9]*$)": {
        "method": "a-b"
    },
    "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent": {
        "cookie": {"lifetimeType": "Permanent"}
    },
    "cookie must be nil if type is not Cookie": {"type": "Header", "cookie": {}},
    "cookie must be specified for Cookie type": {"type": "Cookie"},
    "header must be nil if type is not Header": {"type": "Cookie", "header": {}},
    "header must be specified for Header type": {"type": "Header"},
    "RequestRedirect filter must not be used together with backendRefs": {
        "backendRefs": [_BACKEND],
        "filters": [_REDIRECT],
    },
    "When using RequestRedirect filter with path.replacePrefixMatch, exactly one PathPrefix match "
    "must be specified": {
        "filters": [_REDIRECT_PREFIX],
        "matches": _TWO_MATCHES,
    },
    "When using URLRewrite filter with path.replacePrefixMatch, exactly one PathPrefix match must "
    "be specified": {
        "filters": [_REWRITE_PREFIX],
        "matches": _TWO_MATCHES,
    },
    "Within backendRefs, when using RequestRedirect filter with path.replacePrefixMatch, exactly "
    "one PathPrefix match must be specified": {
        "backendRefs": [{**_BACKEND, "filters": [_REDIRECT_PREFIX]}],
        "matches": _TWO_MATCHES,
    },
    "Within backendRefs, When using URLRewrite filter with path.replacePrefixMatch, exactly one "
    "PathPrefix match must be specified": {
        "backendRefs": [{**_BACKEND, "filters": [_REWRITE_PREFIX]}],
        "matches": _TWO_MATCHES,
    },
    "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not "
    "both": [
        _REDIRECT,
        _REWRITE,
    ],
    "AllowHeaders cannot contain '*' alongside other methods": ["*", "a"],
    "AllowMethods cannot contain '*' alongside other methods": ["*", "GET"],
    "AllowOrigins cannot contain '*' alongside other origins": ["*", "https://a.b"],
    "grpc must be specified when protocol is set to 'GRPC'": {"protocol": "GRPC"},
    "protocol must be 'GRPC' when grpc is set": {"protocol": "HTTP", "grpc": {}, "http": {}},
    "http must be specified when protocol is set to 'HTTP'": {"protocol": "HTTP"},
    "protocol must be 'HTTP' when http is set": {"protocol": "GRPC", "grpc": {}, "http": {}},
    "replaceFullPath must be specified when type is set to 'ReplaceFullPath'": {
        "type": "ReplaceFullPath"
    },
    "type must be 'ReplaceFullPath' when replaceFullPath is set": {
        **_PREFIX["path"],
        "replaceFullPath": "/a",
    },
    "replacePrefixMatch must be specified when type is set to 'ReplacePrefixMatch'": {
        "type": "ReplacePrefixMatch"
    },
    "type must be 'ReplacePrefixMatch' when replacePrefixMatch is set": {
        "type": "ReplaceFullPath",
        "replaceFullPath": "/a",
        "replacePrefixMatch": "/a",
    },
    "value must be an absolute path and start with '/' when type one of ['Exact', "
    "'PathPrefix']": _path("a"),
    f"must not contain '//' {_TYPES}": _path("/a//b"),
    f"must not contain '/./' {_TYPES}": _path("/a/./b"),
    f"must not contain '/../' {_TYPES}": _path("/a/../b"),
    f"must not contain '%2f' {_TYPES}": _path("/a%2fb"),
    f"must not contain '%2F' {_TYPES}": _path("/a%2Fb"),
    f"must not contain '#' {_TYPES}": _path("/a#b"),
    f"must not end with '/..' {_TYPES}": _path("/a/.."),
    f"must not end with '/.' {_TYPES}": _path("/a/."),
    f"must only contain valid characters (matching {_PATH}) for types ['Exact', "
    f"'PathPrefix']": _path("/a b"),
    "backendRequest timeout cannot be longer than request timeout": {
        "request": "1s",
        "backendRequest": "2s",
    },
    "Hostnames cannot contain an IP": ["10.0.0.1"],
    "Hostnames must be valid based on RFC-1123": ["a_b"],
    "Wildcards on hostnames must be the first label, and the rest of hostname must be valid based "
    "on RFC-1123": ["a.*.b"],
    "externalHostname must be set when type is ExternalHostname and must be unset otherwise": {
        "type": "ExternalHostname"
    },
    "hostname must not be an IP address or end with .cluster.local": "a.cluster.local",
    "Name must be a valid DNS label": "A",
    "clientCertificateRef must be set if and only if mode is ClientAndServer": {
        "mode": "ClientAndServer"
    },
    "interval cannot be greater than one hour or less than one second": "2h",
    "interval cannot be greater than one hour": "2h",
    **{
        f"filter.{name} must be nil if the filter.type is not {kind}": {
            "type": other,
            of_other: _FILTERS[of_other],
            name: _FILTERS[name],
        }
        for name, kind in _TYPE_OF.items()
        for of_other, other in [
            ("requestMirror", "RequestMirror")
            if name != "requestMirror"
            else ("extensionRef", "ExtensionRef")
        ]
    },
    **{
        f"filter.{name} must be specified for {kind} filter.type": {"type": kind}
        for name, kind in _TYPE_OF.items()
    },
    **{
        f"{kind} filter cannot be repeated": [{"type": kind, name: _FILTERS[name]}] * 2
        for name, kind in _TYPE_OF.items()
    },
}

UNREACHABLE = {
    "type must be one of ['Exact', 'PathPrefix', "
    "'RegularExpression']": "the enum refuses all other types, and rules do not run then",
}
TRANSITIONS = {"field is immutable": ("example.com/a", "example.com/b")}
"""Rules about a change: (old value, new value)."""
