"""AdmissionReview v1 and v1beta1: what an admission webhook is asked, and what its answer says.

Source: k8s.io/api ``admission/v1``, k8s.io/apiserver
``admission/plugin/webhook/request/admissionreview.go`` (rules and texts), k8s.io/apimachinery
``runtime/serializer`` (why an answer is none).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import orjson

from admission.attributes import Attributes, Equivalent
from admission.rules import namespace_of
from apiserver.codec.body import REVIEW_VERSIONS, BodyError, decode_review
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError, decode
from apiserver.schema.types import Schema
from apiserver.user import User

GROUP: Final = "admission.k8s.io"
KIND: Final = "AdmissionReview"
JSON_PATCH: Final = "JSONPatch"
_STATUS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"


class BadAnswer(ValueError):
    """The answer is no AdmissionReview, or says nothing that counts. received: it could be read."""

    def __init__(self, text: str, *, received: bool = True) -> None:
        super().__init__(text)
        self.received = received


@dataclass(frozen=True, slots=True)
class Response:
    """patch: base64; patch_type: "" where there is none; status: a Status, or None."""

    allowed: bool = False
    patch: str = ""
    patch_type: str = ""
    status: Object | None = None
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


def known_version(versions: list[str]) -> str:
    """The first of a webhook's admissionReviewVersions that this server speaks, or ""."""
    return next((version for version in versions if version in REVIEW_VERSIONS), "")


# --- the question ---------------------------------------------------------------------------------
def review_of(
    version: str,
    uid: str,
    attributes: Attributes,
    matched: Equivalent,
    obj: bytes,
    old: bytes,
) -> bytes:
    """The body of a call. version: of `REVIEW_VERSIONS`; obj, old: JSON, in that of ``matched``."""
    subresource = attributes.subresource
    named = {
        "subResource": subresource,
        "requestSubResource": subresource,
        "name": attributes.name,
        "namespace": namespace_of(attributes),
    }
    request = {
        "uid": uid,
        "kind": _kind(matched.kind),
        "resource": _resource(matched.resource),
        "subResource": "",
        "requestKind": _kind(attributes.kind),
        "requestResource": _resource(attributes.resource),
        **named,
        "operation": attributes.operation,
        "userInfo": user_info(attributes.user),
        "object": orjson.Fragment(obj),
        "oldObject": orjson.Fragment(old),
        "dryRun": attributes.dry_run,
        "options": attributes.options or None,
    }
    review = {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{version}",
        "request": {name: value for name, value in request.items() if named.get(name) != ""},
    }
    return orjson.dumps(review)


def _kind(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> dict[str, str]:
    return {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.resource,
    }


def user_info(user: User) -> Object:
    members = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    return {name: value for name, value in members.items() if value}


# --- the answer -----------------------------------------------------------------------------------
def response_of(data: bytes, version: str, uid: str, *, mutating: bool) -> Response:
    """``version``: that of the question. Raises BadAnswer."""
    review = _review(data, version)
    response = review.get("response")
    if response is None:
        raise BadAnswer("webhook response was absent")
    if version == "v1":
        _check_v1(review, response, uid, mutating=mutating)
    patch, patch_type = response.get("patch") or "", response.get("patchType") or ""
    if version != "v1" and patch:
        patch_type = JSON_PATCH  # the older version never asked for the type
    return Response(
        allowed=bool(response.get("allowed")),
        patch=patch if mutating else "",
        patch_type=patch_type if mutating else "",
        status=response.get("status"),
        warnings=tuple(response.get("warnings") or ()),
        annotations=response.get("auditAnnotations") or {},
    )


def _review(data: bytes, version: str) -> Object:
    """The answer as an AdmissionReview of the version. Raises BadAnswer."""
    try:
        value = decode_review(data, GROUP, KIND, version)
        value.pop("request", None)  # some send it back; nothing looks at it
        review: Object = decode(_schema(version), value).value
    except (BodyError, DecodeError) as error:
        raise BadAnswer(str(error), received=False) from None
    return review


def _check_v1(review: Object, response: Object, uid: str, *, mutating: bool) -> None:
    if response.get("uid", "") != uid:
        raise BadAnswer(
            f"expected response.uid={go_quote(uid)}, got {go_quote(response.get('uid', ''))}"
        )
    group, _, version = review.get("apiVersion", "").rpartition("/")
    if (group, version, review.get("kind", "")) != (GROUP, "v1", KIND):
        raise BadAnswer(
            f"expected webhook response of {GROUP}/v1, Kind={KIND}, got "
            f"{group}/{version}, Kind={review.get('kind', '')}"
        )
    patch, patch_type = response.get("patch") or "", response.get("patchType")
    if not mutating:
        if patch:
            raise BadAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise BadAnswer("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise BadAnswer("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise BadAnswer('webhook returned invalid response.patchType of ""')


@cache
def _schema(version: str) -> Schema:
    """Of an AdmissionReview, without its request."""
    text = _scalar("string", "string")
    response = Schema(
        builtin=True,
        type="object",
        go_type=f"{version}.AdmissionResponse",
        go_struct="AdmissionResponse",
        go_pointer=True,
        go_omit="e",
        properties={
            "uid": _scalar("string", "types.UID"),
            "allowed": _scalar("boolean", "bool"),
            "status": _status(),
            "patch": _scalar("string", "[]uint8", special="bytes"),
            "patchType": _scalar("string", f"{version}.PatchType", go_pointer=True),
            "auditAnnotations": Schema(
                builtin=True,
                type="object",
                additional=text,
                go_type="map[string]string",
                go_omit="e",
            ),
            "warnings": Schema(
                builtin=True, type="array", items=text, go_type="[]string", go_omit="e"
            ),
        },
    )
    return Schema(
        builtin=True,
        type="object",
        go_type=f"{version}.{KIND}",
        go_struct=KIND,
        properties={"kind": text, "apiVersion": text, "response": response},
    )


def _scalar(type_: str, go_type: str, **more: Any) -> Schema:
    return Schema(builtin=True, type=type_, go_type=go_type, go_omit="e", **more)


def _status() -> Schema:
    status = builtin.definition(_STATUS)
    return Schema(
        builtin=True,
        type="object",
        go_type="v1.Status",
        go_struct="Status",
        go_pointer=True,
        go_omit="e",
        properties=status.properties,
    )
