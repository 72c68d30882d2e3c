"""TokenRequest: the ``token`` subresource of a ServiceAccount, as far as it is about the object (kubernetes ``apis/authentication``).

Making the token is the business of authentication; binding it to an object needs to read that object.
"""

from __future__ import annotations

from apiserver.errors import BadRequest, Invalid
from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.base import Object
from apiserver.meta.gvk import GroupKind, GroupVersion

TOKEN_REQUEST = GroupKind("authentication.k8s.io", "TokenRequest")
SHORTEST, LONGEST = 600, 1 << 32
BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_SECONDS = FieldPath("spec.expirationSeconds")


def default_token_request(request: Object, audiences: list[str]) -> None:
    """``audiences``: those of this API server, for a request that names none."""
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = 3600
    if not spec.get("audiences"):
        spec["audiences"] = list(audiences)
    spec.setdefault("boundObjectRef", None)


def check_token_request(request: Object, account: str) -> None:
    """``account``: name of the ServiceAccount in the URL. Raises Invalid, BadRequest. Sets metadata.name and namespace aside."""
    name = (request.get("metadata") or {}).get("name", "")
    if name and name != account:
        raise Invalid(TOKEN_REQUEST, account, [invalid("metadata.name", name, "must match the service account name if specified")])
    errors = _errors(request.get("spec") or {})
    if errors:
        raise Invalid(TOKEN_REQUEST, "", errors)
    ref = (request.get("spec") or {}).get("boundObjectRef")
    if ref is not None:
        version = GroupVersion.parse(ref.get("apiVersion", ""))
        if version != GroupVersion("", "v1") or ref.get("kind") not in BINDABLE:
            raise BadRequest(f"cannot bind token to object of type {version.group}/{version.version}, Kind={ref.get('kind', '')}")


def _errors(spec: Object) -> FieldErrors:
    seconds = spec.get("expirationSeconds", 3600)
    if seconds < SHORTEST:
        return [invalid(_SECONDS, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > LONGEST:
        return [invalid(_SECONDS, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []
