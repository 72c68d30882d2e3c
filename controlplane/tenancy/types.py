"""The types of group tenancy.polyplane.dev and who may ask about their own tenants, as objects of
tenant default."""

from __future__ import annotations

from typing import Any

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.request import OWN_TENANTS, TENANCY_GROUP
from apiserver.tenantnames import PATTERN
from controlplane.tenancy.models import PLAIN_DEFAULT, SMALLEST, Tenant

VERSION = "v1"
TEMPLATES = GroupResource(TENANCY_GROUP, "tenanttemplates")
_MOST_OBJECTS = 1_000
_LABEL = f"^{PATTERN}$"


def _camel(column: str) -> str:
    first, *rest = column.removeprefix("max_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def _object(properties: Object, description: str, **more: Any) -> Object:
    return {"type": "object", "properties": properties, "description": description, **more}


def _text(description: str, most: int, **more: Any) -> Object:
    return {"type": "string", "description": description, "maxLength": most, **more}


def _list(items: Object, most: int, description: str, **more: Any) -> Object:
    return {
        "type": "array",
        "items": items,
        "maxItems": most,
        "description": description,
        **more,
    }


def _number(description: str, least: int = 0) -> Object:
    return {"type": "integer", "format": "int64", "minimum": least, "description": description}


def _flag(description: str) -> Object:
    return {"type": "boolean", "description": description}


def _time(description: str) -> Object:
    return {"type": "string", "format": "date-time", "description": description}


_QUOTAS = {
    _camel(field.name): _number(str(field.help_text), SMALLEST.get(field.name, 0))
    for field in Tenant._meta.fields
    if field.name in Tenant.QUOTAS
}
for _name in ("watches", "inflight"):
    _QUOTAS[_name]["maximum"] = 2**31 - 1

_OWNER = _object(
    {
        "kind": {"type": "string", "enum": ["User", "Group"]},
        "name": _text("As authentication in the tenant names it.", 300, minLength=1),
    },
    "Who is bound to cluster-admin in the tenant.",
    required=["kind", "name"],
)
_SPEC = _object(
    {
        "displayName": _text("What people call the tenant.", 200),
        "owners": _list(
            _OWNER,
            100,
            "Bound to cluster-admin in the tenant.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["kind", "name"]},
        ),
        "templates": _list(
            _object(
                {"name": _text("Of a TenantTemplate.", 253, minLength=1)},
                "One of them.",
                required=["name"],
            ),
            16,
            "What the tenant is made from, in this order; only looked at when it is made.",
            **{"x-kubernetes-list-type": "atomic"},
        ),
        "quotas": _object(_QUOTAS, "Limits of its own; what is absent is the installation's."),
        "retentionSeconds": {
            **_number("How long superseded events are kept."),
            "maximum": 2**31 - 1,
        },
        "controllersOff": _list(
            _text("Of a controller.", 63),
            100,
            "Controllers that are left to somebody else.",
            **{"x-kubernetes-list-type": "set"},
        ),
        "suspended": _flag("All requests are refused, nothing is lost."),
        "expiresAt": _time("When the tenant is deleted."),
        "ttlSeconds": {
            **_number("The tenant is deleted so long after its creation."),
            "maximum": 3_153_600_000,
        },
        "deletionProtection": _flag("The tenant is not deleted while this is set."),
    },
    "What the tenant shall be.",
    **{
        "x-kubernetes-validations": [
            {
                "rule": "!(has(self.expiresAt) && has(self.ttlSeconds))",
                "message": "expiresAt and ttlSeconds exclude each other",
            },
            {
                "rule": "(has(self.templates) ? self.templates : []) == "
                "(has(oldSelf.templates) ? oldSelf.templates : [])",
                "message": "templates are looked at when the tenant is made, and cannot be changed",
            },
        ]
    },
)
_CONDITION = _object(
    {
        "type": _text("Ready, Suspended or Expired.", 316),
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": _text("In one word.", 1024),
        "message": _text("For people.", 32768),
        "lastTransitionTime": _time("When the status changed."),
        "observedGeneration": _number("Of the object."),
    },
    "One of them.",
    required=["type", "status", "lastTransitionTime", "reason", "message"],
)
_STATUS = _object(
    {
        "observedGeneration": _number("The generation that the tenant has been brought to."),
        "path": _text("Below which the tenant is served.", 100),
        "conditions": _list(
            _CONDITION,
            16,
            "What the tenant is like.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
        "counts": _object(
            {
                "objects": _number("Stored objects."),
                "bytes": _number("Of stored objects."),
                "logBytes": _number("Of retained events."),
            },
            "What the tenant stores, as of some moments ago.",
        ),
    },
    "What the tenant is.",
)
_ROOT_RULES = [
    {"rule": f"self.metadata.name.matches('{_LABEL}')", "message": "the name is a DNS label"},
    {
        "rule": "self.metadata.name != 'default' || !has(self.spec) || (!(has(self.spec.suspended) "
        "&& self.spec.suspended) && !has(self.spec.expiresAt) && !has(self.spec.ttlSeconds) && "
        "!has(self.spec.templates) && (!has(self.spec.owners) || self.spec.owners.size() == 0))",
        "message": PLAIN_DEFAULT,
    },
]


def _column(name: str, path: str, kind: str = "string", priority: int = 0) -> Object:
    return {"name": name, "jsonPath": path, "type": kind, "priority": priority}


def _condition_column(kind: str) -> Object:
    return _column(kind, f'.status.conditions[?(@.type=="{kind}")].status')


def _definition(
    resource: GroupResource,
    kind: str,
    schema: Object,
    *,
    columns: list[Object] | None = None,
    status: bool = False,
) -> Object:
    version: Object = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", **schema}},
    }
    if columns:
        version["additionalPrinterColumns"] = columns
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.resource}.{TENANCY_GROUP}"},
        "spec": {
            "group": TENANCY_GROUP,
            "names": {
                "plural": resource.resource,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
            },
            "scope": "Cluster",
            "versions": [version],
        },
    }


_TENANT = {
    "description": "One control plane of this installation.",
    "properties": {"spec": _SPEC, "status": _STATUS},
    "x-kubernetes-validations": _ROOT_RULES,
}
_ANYTHING = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "x-kubernetes-embedded-resource": True,
}
_TEMPLATE = {
    "description": "Objects that new tenants are made with.",
    "properties": {
        "spec": _object(
            {
                "objects": _list(
                    _ANYTHING,
                    _MOST_OBJECTS,
                    "Applied in this order, definitions and namespaces first.",
                    **{"x-kubernetes-list-type": "atomic"},
                )
            },
            "What tenants are made with.",
            required=["objects"],
        )
    },
    "required": ["spec"],
}
_REVIEW = {
    "description": ("Asks which tenants the one who asks owns, or is bound in; nothing is stored."),
    "properties": {
        "spec": _object(
            {
                "after": _text(
                    "Those behind this name in their order are told, the first ones without it.", 63
                )
            },
            "The question.",
        ),
        "status": _object(
            {
                "tenants": _list(
                    _object(
                        {
                            "name": _text("Of the tenant.", 63),
                            "displayName": _text("What people call it.", 200),
                            "path": _text("Below which it is served.", 100),
                            "suspended": _flag("Whether it refuses requests."),
                            "through": _list(
                                _text("owner, or binding.", 63),
                                10,
                                "Why it is told: an owner, by a RoleBinding or ClusterRoleBinding.",
                                **{"x-kubernetes-list-type": "atomic"},
                            ),
                        },
                        "One that is owned, or whose bindings name the one who asks.",
                    ),
                    100_000,
                    "Sorted by name; at most 1000.",
                    **{"x-kubernetes-list-type": "atomic"},
                ),
                "count": {
                    "type": "integer",
                    "description": "How many there are, behind spec.after.",
                },
                "truncated": _flag("Whether there are more than are told."),
            },
            "The answer.",
        ),
    },
}


def objects() -> list[Object]:
    """Definitions first; for tenant default."""
    columns = [
        _condition_column("Ready"),
        _condition_column("Suspended"),
        _column("Objects", ".status.counts.objects", "integer"),
        _column("Bytes", ".status.counts.bytes", "integer"),
        _column("Display name", ".spec.displayName", priority=1),
        _column("Expires", ".spec.expiresAt", priority=1),
        _column("Age", ".metadata.creationTimestamp", "date"),
    ]
    tenants = GroupResource(TENANCY_GROUP, "tenants")
    return [
        _definition(tenants, "Tenant", _TENANT, columns=columns, status=True),
        _definition(TEMPLATES, "TenantTemplate", _TEMPLATE),
        _definition(OWN_TENANTS, "SelfTenantReview", _REVIEW),
    ]
