"""Conversion webhooks without the network: which call a definition asks for, what is sent, and what
an answer must look like.

Objects of one definition are stored in one version and served in several. Under strategy Webhook a
server outside turns one into another: it is sent a ConversionReview with the objects and answers
with as many converted ones, in the same order. It may change everything but the identity of an
object: of the metadata only labels and annotations are taken from the answer. Source of rules and
texts: k8s.io/apiextensions-apiserver ``pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver.codec.body import decode_review
from apiserver.errors import PlainError, aggregate
from apiserver.fielderrors import FieldPath
from apiserver.golang.fmt import go_type
from apiserver.golang.json import type_name
from apiserver.golang.math import whole_numbers
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common import checks as c
from apiserver.kinds.served import ConversionWebhook
from apiserver.meta.objects import Object, copy_json, gvk_of
from apiserver.schema.labelselector import validate_labels

GROUP = "apiextensions.k8s.io"
KIND = "ConversionReview"


class ConversionFailed(PlainError):
    """500 with upstream's text. unreachable: there was no answer, or none about the objects, so
    that any call would have failed."""

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable


class ConversionError(ValueError):
    """The objects cannot be had in the version. failure: what kind of failure, as upstream's metric
    names it."""

    def __init__(self, text: str, failure: str) -> None:
        super().__init__(text)
        self.failure = failure


def review_of(
    webhook: ConversionWebhook, objects: Sequence[Object], api_version: str, uid: str
) -> bytes:
    """The request's body. Raises ConversionError."""
    if not webhook.review:
        raise ConversionError(
            "no supported conversion review versions", "conversion_webhook_call_failure"
        )
    review = {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{webhook.review}",
        "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }
    return orjson.dumps(review)


def converted_of(
    webhook: ConversionWebhook, objects: Sequence[Object], api_version: str, uid: str, answer: bytes
) -> list[Object]:
    """The converted objects of an answer, in the order of ``objects``, which stay as they are.
    Raises ConversionError."""
    who = f"conversion webhook for {gvk_of(objects[0])}"
    try:
        converted_objects = _response(webhook, uid, answer)
    except ValueError as error:
        raise ConversionError(
            f"{who} failed: {error}", "conversion_webhook_malformed_response_failure"
        ) from None
    if len(converted_objects) != len(objects):
        text = f"{who} returned {len(converted_objects)} objects, expected {len(objects)}"
        raise ConversionError(text, "conversion_webhook_partial_response_failure")
    single = len(objects) == 1
    for converted in converted_objects:
        _check_object(converted)
    for i, (original, converted) in enumerate(zip(objects, converted_objects, strict=True)):
        try:
            _check_kind(original, converted, api_version)
        except ValueError as error:
            what = "invalid object" if single else "invalid converted object"
            raise _invalid(f"{who} returned {what} at index {i}: {error}") from None
        try:
            _check_identity(original, converted)
        except ValueError as error:
            where = "invalid object" if single else f"invalid converted object at index {i}"
            raise _invalid(f"{who} returned {where}: {error}") from None
        try:
            _restore_metadata(original, converted)
        except ValueError as error:
            where = "invalid metadata" if single else f"invalid metadata in object at index {i}"
            raise _invalid(f"{who} returned {where}: {error}") from None
    return converted_objects


def _check_object(converted: Any) -> None:
    """As Go decodes it. Raises ConversionError."""
    if converted is None:
        raise _invalid("unexpected end of JSON input")
    if not isinstance(converted, dict):
        raise _invalid(
            f"json: cannot unmarshal {type_name(converted)} into Go value of type "
            f"map[string]interface {{}}"
        )


def _invalid(text: str) -> ConversionError:
    return ConversionError(text, "conversion_webhook_invalid_converted_object_failure")


def _response(webhook: ConversionWebhook, uid: str, answer: bytes) -> list[Object]:
    """convertedObjects of the answer, which may still be anything. Raises ValueError."""
    review: Object = whole_numbers(_review(webhook, answer))
    if webhook.review == "v1":  # the older version never asked for that
        _check_type(review)
    response = review.get("response")
    if response is None:
        raise ValueError("no response provided")
    if not isinstance(response, dict):
        raise ValueError(f"response is of type {go_type(response)}, not an object")
    if webhook.review == "v1" and response.get("uid", "") != uid:
        raise ValueError(
            f"expected response.uid={go_quote(uid)}, got {_go_value(response.get('uid', ''))}"
        )
    result = response.get("result")
    status = result.get("status", "") if isinstance(result, dict) else ""
    if status != "Success":
        message = result.get("message", "") if isinstance(result, dict) else ""
        raise ValueError(
            str(message) if message else f"response.result.status was '{status}', not 'Success'"
        )
    objects = response.get("convertedObjects") or []
    if not isinstance(objects, list):
        raise ValueError(f"response.convertedObjects is of type {go_type(objects)}, not a list")
    return objects


def _review(webhook: ConversionWebhook, answer: bytes) -> Object:
    """Raises ValueError."""
    try:
        review = orjson.loads(answer)
        if isinstance(review, dict) and (review.get("apiVersion"), review.get("kind")) == (
            f"{GROUP}/{webhook.review}",
            KIND,
        ):
            return review
    except orjson.JSONDecodeError:
        pass
    return decode_review(answer, GROUP, KIND, webhook.review)


def _check_type(review: Object) -> None:
    group, _, version = str(review.get("apiVersion") or "").rpartition("/")
    if (group, version, review.get("kind")) != (GROUP, "v1", KIND):
        sent_type = f"{group}/{version}, Kind={review.get('kind') or ''}"
        raise ValueError(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {sent_type}")


def _check_kind(original: Object, converted: Object, api_version: str) -> None:
    if not isinstance(converted.get("kind"), str) or not converted["kind"]:
        raise ValueError(f"Object 'Kind' is missing in '{orjson.dumps(converted).decode()}'")
    if converted.get("apiVersion") != api_version:
        received = converted.get("apiVersion") or ""
        raise ValueError(f"invalid groupVersion (expected {api_version}, received {received})")
    if converted["kind"] != original["kind"]:
        raise ValueError(
            f"invalid kind (expected {original['kind']}, received {converted['kind']})"
        )


def _check_identity(original: Object, converted: Object) -> None:
    before, after = original.get("metadata"), converted.get("metadata")
    for member, text in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        old, new = (m.get(member) if isinstance(m, dict) else None for m in (before, after))
        old, new = (value if isinstance(value, str) else "" for value in (old, new))
        if old != new:
            raise ValueError(f"must have the same {text}: {old} != {new}")


def _restore_metadata(original: Object, converted: Object) -> None:
    """Puts the original's metadata into ``converted``, with the labels and annotations that
    ``converted`` has."""
    if "metadata" not in converted:
        raise ValueError("missing metadata in converted object")
    answered = converted["metadata"]
    if not isinstance(answered, dict):
        raise ValueError(f"invalid metadata of type {go_type(answered)} in converted object")
    metadata = copy_json(original.get("metadata", {}))
    converted["metadata"] = metadata
    if not isinstance(metadata, dict):
        raise ValueError(f"invalid metadata of type {go_type(metadata)} in input object")
    for member in ("labels", "annotations"):
        _take(member, metadata, answered.get(member))


def _take(member: str, metadata: Object, answered: Any) -> None:
    """Labels or annotations of the answer into the metadata."""
    if answered is None:
        metadata.pop(member, None)
        return
    if not isinstance(answered, dict):
        raise ValueError(
            f"invalid metadata.{member} of type {go_type(answered)} in converted object"
        )
    before = metadata.get(member)
    if before is not None and not isinstance(before, dict):
        raise ValueError(f"invalid metadata.{member} of type {go_type(before)} in original object")
    for name, value in answered.items():
        if not isinstance(value, str):
            raise ValueError(
                f"metadata.{member}[{name}] must be a string, but is {go_type(value)} in "
                f"converted object"
            )
    if answered != (before or {}):
        path = FieldPath("metadata")
        labels = member == "labels"
        errors = (
            validate_labels(answered, path.child("labels"))
            if labels
            else list(c.annotation_map(answered, path.child("annotation")))
        )
        if errors:
            raise ValueError(aggregate([str(e) for e in errors]))
    metadata[member] = answered


def _go_value(value: Any) -> str:
    return go_quote(value) if isinstance(value, str) else go_type(value)
