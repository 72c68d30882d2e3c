"""What may be used only where a quota covers it: the limitedResources of a
ResourceQuotaConfiguration (k8s.io/apiserver ``admission/plugin/resourcequota/controller.go``
CheckRequest)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from admission.config import Section
from admission.plugins.quota_scopes import fits, requirements
from admission.plugins.quota_usage import Usage, matching
from apiserver.errors import Forbidden, PlainError
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

_KINDS = {
    "apiserver.config.k8s.io/v1": "ResourceQuotaConfiguration",
    "resourcequota.admission.k8s.io/v1beta1": "Configuration",
    "resourcequota.admission.k8s.io/v1alpha1": "Configuration",
}
_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort"),
    *("PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class Limited:
    """contains: parts of names of quota resources; scopes: requirements of a scope selector."""

    resource: GroupResource
    contains: tuple[str, ...]
    scopes: tuple[Object, ...]

    @classmethod
    def read(cls, section: Section) -> Limited:
        """Raises ConfigError."""
        resource = GroupResource(section.text("apiGroup"), section.text("resource"))
        if not resource.resource:
            raise section.wrong("resource", "must be set")
        contains = tuple(section.texts("matchContains"))
        scopes = tuple(map(_scope, section.sections("matchScopes")))
        section.end()
        return cls(resource, contains, scopes)


def _scope(section: Section) -> Object:
    """Raises ConfigError."""
    name, operator = section.text("scopeName"), section.text("operator")
    if name not in _SCOPES:
        raise section.wrong("scopeName", f"must be one of {', '.join(_SCOPES)}")
    if operator not in _OPERATORS:
        raise section.wrong("operator", f"must be one of {', '.join(_OPERATORS)}")
    values = list(section.texts("values"))
    if bool(values) != (operator in ("In", "NotIn")):
        raise section.wrong("values", "must be there for In and NotIn, and for these only")
    section.end()
    return {"scopeName": name, "operator": operator, "values": values}


def read(section: Section) -> Sequence[Limited]:
    """``section``: a ResourceQuotaConfiguration. Raises ConfigError."""
    version, kind = section.text("apiVersion"), section.text("kind")
    if version not in _KINDS:
        raise section.wrong("apiVersion", f"must be one of {', '.join(_KINDS)}")
    if kind != _KINDS[version]:
        raise section.wrong("kind", f"must be {_KINDS[version]}")
    limited = tuple(map(Limited.read, section.sections("limitedResources")))
    section.end()
    return limited


def check_covered(
    limited: Sequence[Limited],
    quotas: Sequence[Object],
    relevant: Iterable[Object],
    resource: GroupResource,
    obj: Object,
    uses: Usage,
    name: str,
) -> None:
    """quotas: all of the namespace; relevant: those that limit the object. Raises Forbidden, and
    PlainError, where upstream's answer is 500."""
    required = {
        used
        for limit in limited
        if limit.resource == resource
        for used, amount in uses.items()
        if amount.sign > 0 and any(part in used for part in limit.contains)
    }
    covered = {n for quota in relevant for n in matching(resource, _hard(quota))}
    if lacking := sorted(required - covered):
        raise Forbidden(resource, name, f"insufficient quota to consume: {','.join(lacking)}")
    scopes = [s for limit in limited for s in limit.scopes if fits(s, resource, obj)]
    have = {
        scope.get("scopeName")
        for quota in quotas
        for scope in requirements(quota)
        if fits(scope, resource, obj)
    }
    if missing := [scope for scope in scopes if scope["scopeName"] not in have]:
        told = " ".join(map(_scope_text, missing))
        raise PlainError(f"insufficient quota to match these scopes: [{told}]")


def _hard(quota: Object) -> Object:
    return (quota.get("status") or {}).get("hard") or {}


def _scope_text(scope: Object) -> str:
    """As Go prints the struct."""
    return f"{{{scope['scopeName']} {scope['operator']} [{' '.join(scope['values'])}]}}"
