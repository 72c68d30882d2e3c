"""TokenRequest: the ``token`` subresource of a ServiceAccount, as far as it is about objects.

Making the token is the business of authentication (`apiserver.authn.serviceaccounts`). Source:
kubernetes ``pkg/registry/core/serviceaccount/storage/token.go``,
``apis/authentication/validation``.
"""

from __future__ import annotations

from apiserver.errors import BadRequest, Conflict, Invalid
from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.golang.strconv import go_quote
from apiserver.meta import names
from apiserver.meta.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object

KIND = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
TOKEN_REQUEST = GroupKind(KIND.group, KIND.kind)
SHORTEST, LONGEST = 600, 1 << 32
UID_VALIDATION = "TokenRequestServiceAccountUIDValidation"
"""The feature gate of ``strict``."""
BINDABLE = frozenset({"Pod", "Secret", "Node"})
_SECONDS = FieldPath("spec.expirationSeconds")
_DIFFERS = "does not match the UID in record. The object might have been deleted and then recreated"


def default_token_request(request: Object) -> None:
    """What decoding fills in."""
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = 3600
    spec.setdefault("audiences", None)
    spec.setdefault("boundObjectRef", None)


def check_name(request: Object, account: str) -> None:
    """``account``: name of the ServiceAccount in the URL. Raises Invalid."""
    name = (request.get("metadata") or {}).get("name", "")
    if name and name != account:
        raise Invalid(
            TOKEN_REQUEST,
            account,
            [invalid("metadata.name", name, "must match the service account name if specified")],
        )


def fill_token_request(
    request: Object, account: Object, audiences: list[str], now: str, *, strict: bool = True
) -> list[str]:
    """Takes from the ServiceAccount what the request leaves out. ``audiences``: those of this API
    server, for a request that names none. Another account's uid raises Conflict or, without
    ``strict``, is a warning. Returns warnings."""
    metadata, of = request["metadata"], account["metadata"]
    uid = metadata.get("uid", "")
    warnings = []
    if uid and uid != of["uid"]:
        why = (
            f"the UID in the token request ({uid}) does not match the UID of the service "
            f"account ({of['uid']})"
        )
        if strict:
            raise Conflict(GroupResource(KIND.group, KIND.kind), of["name"], why)
        warnings = [
            f"{why} but {UID_VALIDATION} is not enabled. In the future, this will return a "
            f"conflict error"
        ]
    metadata.update(
        name=of["name"], namespace=of["namespace"], uid=uid or of["uid"], creationTimestamp=now
    )
    if not request["spec"].get("audiences"):
        request["spec"]["audiences"] = list(audiences)
    request["status"] = {"token": "", "expirationTimestamp": None}
    return warnings


def validate_token_request(request: Object) -> None:
    """Raises Invalid."""
    errors = _errors(request["spec"])
    if errors:
        raise Invalid(TOKEN_REQUEST, "", errors)


def _errors(spec: Object) -> FieldErrors:
    seconds = spec["expirationSeconds"]
    if seconds < SHORTEST:
        return [invalid(_SECONDS, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > LONGEST:
        return [invalid(_SECONDS, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def bound_kind(ref: Object) -> str:
    """One of `BINDABLE`; the version that the reference names does not matter. Raises BadRequest,
    also for a name that no object has."""
    kind, name = ref.get("kind", ""), ref.get("name", "")
    try:
        version = GroupVersion.parse(ref.get("apiVersion", ""))
    except ValueError:
        version = GroupVersion("", "")
    if version.group or kind not in BINDABLE:
        raise BadRequest(
            f"cannot bind token to object of type {version.group}/{version.version}, Kind={kind}"
        )
    if not name:
        raise BadRequest("Name parameter required.")
    if problems := names.path_segment(name):
        raise BadRequest(f"Name parameter invalid: {go_quote(name)}: {';'.join(problems)}")
    return str(kind)


def check_bound(ref: Object, bound: Object, account: str) -> None:
    """``bound``: the object that ``ref`` names, ``account``: the ServiceAccount's name. Raises
    BadRequest, Conflict."""
    if ref["kind"] == "Pod" and bound["spec"].get("serviceAccountName", "") != account:
        raise BadRequest(
            f"cannot bind token for serviceaccount {go_quote(account)} to pod running with "
            f"different serviceaccount name."
        )
    uid = ref.get("uid", "")
    if uid and uid != bound["metadata"]["uid"]:
        raise Conflict(
            GroupResource("", ref["kind"]),
            ref["name"],
            f"the UID in the bound object reference ({uid}) {_DIFFERS}",
        )
