"""Conversion webhooks without the network: which call a definition asks for, what is sent, and what an answer must look like.

Objects of one definition are stored in one version and served in several. Under strategy Webhook a server outside turns one into another:
it is sent a ConversionReview with the objects and answers with as many converted ones, in the same order. It may change everything but the
identity of an object: of the metadata only labels and annotations are taken from the answer.
Source of rules and texts: k8s.io/apiextensions-apiserver ``pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.errors import aggregate
from apiserver.fielderrors import FieldPath, go_quote
from apiserver.kinds.base import Object
from apiserver.kinds.common import checks as c
from apiserver.meta.objects import copy_json, gvk_of
from apiserver.schema.gonumbers import whole_numbers
from apiserver.schema.labelselector import validate_labels

GROUP = "apiextensions.k8s.io"
KIND = "ConversionReview"
_KNOWN_REVIEWS = ("v1", "v1beta1")
_MADE_OF_TYPE = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}", dict: "map[string]interface {}"}


class ConversionError(ValueError):
    """The objects cannot be had in the version. failure: what kind of failure, as upstream's metric names it."""

    def __init__(self, text: str, failure: str) -> None:
        super().__init__(text)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ConversionWebhook:
    """What a definition says about its webhook. config: the clientConfig; review: the version of ConversionReview to send."""

    config: Mapping[str, Any]
    review: str

    @classmethod
    def of(cls, spec: Object) -> ConversionWebhook | None:
        """``spec``: of a CustomResourceDefinition. None where apiVersion is all that conversion changes."""
        conversion = spec.get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        webhook = conversion.get("webhook") or {}
        known = [v for v in webhook.get("conversionReviewVersions") or () if v in _KNOWN_REVIEWS]
        return cls(webhook.get("clientConfig") or {}, known[0] if known else "")


def review_of(webhook: ConversionWebhook, objects: Sequence[Object], api_version: str, uid: str) -> bytes:
    """The request's body. Raises ConversionError."""
    if not webhook.review:
        raise ConversionError("no supported conversion review versions", "conversion_webhook_call_failure")
    review = {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{webhook.review}",
        "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }
    return orjson.dumps(review)


def converted_of(webhook: ConversionWebhook, objects: Sequence[Object], api_version: str, uid: str, answer: bytes) -> list[Object]:
    """The converted objects of an answer, in the order of ``objects``, which stay as they are. Raises ConversionError."""
    who = f"conversion webhook for {gvk_of(objects[0])}"
    try:
        found = _response(webhook, uid, answer)
    except ValueError as error:
        raise ConversionError(f"{who} failed: {error}", "conversion_webhook_malformed_response_failure") from None
    if len(found) != len(objects):
        text = f"{who} returned {len(found)} objects, expected {len(objects)}"
        raise ConversionError(text, "conversion_webhook_partial_response_failure")
    single = len(objects) == 1
    for i, (original, made) in enumerate(zip(objects, found, strict=True)):
        try:
            _check_kind(original, made, api_version)
        except ValueError as error:
            what = "invalid object" if single else "invalid converted object"
            raise _invalid(f"{who} returned {what} at index {i}: {error}") from None
        try:
            _check_identity(original, made)
        except ValueError as error:
            where = "invalid object" if single else f"invalid converted object at index {i}"
            raise _invalid(f"{who} returned {where}: {error}") from None
        try:
            _restore_metadata(original, made)
        except ValueError as error:
            where = "invalid metadata" if single else f"invalid metadata in object at index {i}"
            raise _invalid(f"{who} returned {where}: {error}") from None
    return found


def _invalid(text: str) -> ConversionError:
    return ConversionError(text, "conversion_webhook_invalid_converted_object_failure")


def _response(webhook: ConversionWebhook, uid: str, answer: bytes) -> list[Object]:
    """convertedObjects of the answer, which may still be anything. Raises ValueError."""
    try:
        review = whole_numbers(orjson.loads(answer))
    except orjson.JSONDecodeError as error:
        raise ValueError(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        raise ValueError(f"couldn't get version/kind; json parse error: {_go_type(review)} is no object")
    if webhook.review == "v1":  # the older version never asked for that
        _check_type(review)
    response = review.get("response")
    if response is None:
        raise ValueError("no response provided")
    if not isinstance(response, dict):
        raise ValueError(f"response is of type {_go_type(response)}, not an object")
    if webhook.review == "v1" and response.get("uid", "") != uid:
        raise ValueError(f"expected response.uid={go_quote(uid)}, got {_shown(response.get('uid', ''))}")
    result = response.get("result")
    status = result.get("status", "") if isinstance(result, dict) else ""
    if status != "Success":
        message = result.get("message", "") if isinstance(result, dict) else ""
        raise ValueError(str(message) if message else f"response.result.status was '{status}', not 'Success'")
    found = response.get("convertedObjects") or []
    if not isinstance(found, list):
        raise ValueError(f"response.convertedObjects is of type {_go_type(found)}, not a list")
    return found


def _check_type(review: Object) -> None:
    group, _, version = str(review.get("apiVersion") or "").rpartition("/")
    if (group, version, review.get("kind")) != (GROUP, "v1", KIND):
        found = f"{group}/{version}, Kind={review.get('kind') or ''}"
        raise ValueError(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {found}")


def _check_kind(original: Object, made: Any, api_version: str) -> None:
    if not isinstance(made, dict):
        raise ValueError(f"{_go_type(made)} is no object")
    if not isinstance(made.get("kind"), str) or not made["kind"]:
        raise ValueError(f"Object 'Kind' is missing in '{orjson.dumps(made).decode()}'")
    if made.get("apiVersion") != api_version:
        received = made.get("apiVersion") or ""
        raise ValueError(f"invalid groupVersion (expected {api_version}, received {received})")
    if made["kind"] != original["kind"]:
        raise ValueError(f"invalid kind (expected {original['kind']}, received {made['kind']})")


def _check_identity(original: Object, made: Object) -> None:
    before, after = original.get("metadata"), made.get("metadata")
    for member, text in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        old, new = (m.get(member) if isinstance(m, dict) else None for m in (before, after))
        old, new = (value if isinstance(value, str) else "" for value in (old, new))
        if old != new:
            raise ValueError(f"must have the same {text}: {old} != {new}")


def _restore_metadata(original: Object, made: Object) -> None:
    """Puts the original's metadata into ``made``, with the labels and annotations that ``made`` has."""
    if "metadata" not in made:
        raise ValueError("missing metadata in converted object")
    answered = made["metadata"]
    if not isinstance(answered, dict):
        raise ValueError(f"invalid metadata of type {_go_type(answered)} in converted object")
    metadata = copy_json(original.get("metadata", {}))
    made["metadata"] = metadata
    if not isinstance(metadata, dict):
        raise ValueError(f"invalid metadata of type {_go_type(metadata)} in input object")
    for member in ("labels", "annotations"):
        _take(member, metadata, answered.get(member))


def _take(member: str, metadata: Object, answered: Any) -> None:
    """Labels or annotations of the answer into the metadata."""
    if answered is None:
        metadata.pop(member, None)
        return
    if not isinstance(answered, dict):
        raise ValueError(f"invalid metadata.{member} of type {_go_type(answered)} in converted object")
    before = metadata.get(member)
    if before is not None and not isinstance(before, dict):
        raise ValueError(f"invalid metadata.{member} of type {_go_type(before)} in original object")
    for name, value in answered.items():
        if not isinstance(value, str):
            raise ValueError(f"metadata.{member}[{name}] must be a string, but is {_go_type(value)} in converted object")
    if answered != (before or {}):
        path = FieldPath("metadata")
        labels = member == "labels"
        errors = validate_labels(answered, path.child("labels")) if labels else list(c.annotation_map(answered, path.child("annotation")))
        if errors:
            raise ValueError(aggregate([str(e) for e in errors]))
    metadata[member] = answered


def _go_type(value: Any) -> str:
    return _MADE_OF_TYPE.get(type(value), "<nil>")


def _shown(value: Any) -> str:
    return go_quote(value) if isinstance(value, str) else _go_type(value)
