"""ConversionReviews without a network: what a definition asks for, and what of an answer is
taken."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver.kinds.apiextensions.conversion import ConversionError, converted_of, review_of
from apiserver.kinds.served import ConversionWebhook

V1 = ConversionWebhook({}, "v1")
OLD = ConversionWebhook({}, "v1beta1")


def obj(version: str = "v1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Foo",
        "metadata": {"name": "a", "uid": "u", **metadata},
    }


def answer(*objects: Any, uid: str = "1", review: str = "v1", **more: Any) -> bytes:
    response = {"uid": uid, "result": {"status": "Success"}, "convertedObjects": list(objects)}
    return orjson.dumps(
        {
            "apiVersion": f"apiextensions.k8s.io/{review}",
            "kind": "ConversionReview",
            "response": response,
            **more,
        }
    )


def metadata_of(original: dict[str, Any], answered: Any) -> dict[str, Any]:
    """The metadata that a conversion of one object to another leaves."""
    made: dict[str, Any] = {"apiVersion": "example.com/v2", "kind": "Foo", "metadata": answered}
    (found,) = converted_of(V1, [original], "example.com/v2", "1", answer(made))
    result: dict[str, Any] = found["metadata"]
    return result


def failure(original: dict[str, Any], answered: Any) -> str:
    with pytest.raises(ConversionError) as raised:
        metadata_of(original, answered)
    return str(raised.value).removeprefix(
        "conversion webhook for example.com/v1, Kind=Foo returned "
    )


def spec(**webhook: Any) -> dict[str, Any]:
    return {
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://x"}, **webhook},
        }
    }


@pytest.mark.parametrize(
    ("versions", "review"),
    [(["v1", "v1beta1"], "v1"), (["v1beta1", "v1"], "v1beta1"), (["v9", "v1"], "v1"), (["v9"], "")],
)
def test_the_first_review_version_that_is_known_is_spoken(versions: list[str], review: str) -> None:
    found = ConversionWebhook.of(spec(conversionReviewVersions=versions))
    assert found is not None and found.review == review
    if review:
        assert (
            orjson.loads(review_of(found, [], "x/v1", "1"))["apiVersion"]
            == f"apiextensions.k8s.io/{review}"
        )
    else:
        with pytest.raises(ConversionError, match="no supported conversion review versions"):
            review_of(found, [], "x/v1", "1")


@pytest.mark.parametrize("conversion", [None, {}, {"strategy": "None"}])
def test_without_the_strategy_there_is_no_webhook(conversion: Any) -> None:
    assert ConversionWebhook.of({"conversion": conversion}) is None


def test_a_review_carries_the_objects_and_where_they_go() -> None:
    review = orjson.loads(review_of(V1, [obj()], "example.com/v2", "1"))
    assert review["request"] == {
        "uid": "1",
        "desiredAPIVersion": "example.com/v2",
        "objects": [obj()],
    }


@pytest.mark.parametrize(
    ("before", "answered", "after"),
    [
        (
            {"labels": {"a": "A"}, "annotations": {"a": "1"}},
            {"labels": {"a": "B"}, "annotations": {"a": "2"}, "generation": 7},
            None,
        ),
        ({}, {"labels": {"a": "A"}, "annotations": {"a": "1"}}, None),
        (
            {"labels": None, "annotations": None},
            {"labels": {"a": "A"}, "annotations": {"a": "1"}},
            None,
        ),
        ({"labels": {"a": "A"}, "annotations": {"a": "1"}}, {}, {}),
        (
            {"labels": {"a": "A"}, "annotations": {"a": "1"}},
            {"labels": None, "annotations": None},
            {},
        ),
        (
            {"labels": {"not a label": "kept as it was"}},
            {"labels": {"not a label": "kept as it was"}},
            None,
        ),
    ],
)
def test_labels_and_annotations_are_the_answers_and_all_else_is_the_originals(
    before: Any, answered: Any, after: Any
) -> None:
    wanted = (
        after
        if after is not None
        else {k: answered[k] for k in ("labels", "annotations") if k in answered}
    )
    assert metadata_of(obj(generation=1, **before), {**answered, "name": "a", "uid": "u"}) == {
        "name": "a",
        "uid": "u",
        "generation": 1,
        **wanted,
    }


@pytest.mark.parametrize(
    ("answered", "text"),
    [
        (
            {"labels": {"a": None}},
            "metadata.labels[a] must be a string, but is <nil> in converted object",
        ),
        (
            {"annotations": {"a": 1.5}},
            "metadata.annotations[a] must be a string, but is float64 in converted object",
        ),
        ({"labels": "x"}, "invalid metadata.labels of type string in converted object"),
        (
            {"labels": {"some/non-qualified/label": "x"}},
            'metadata.labels: Invalid value: "some/non-qualified/label"',
        ),
        ({"labels": {"foo": "üäö"}}, 'metadata.labels: Invalid value: "üäö"'),
        ({"labels": {"foo": "x" * 64}}, "metadata.labels: Invalid value: "),
        ({"annotations": {"foo": "x" * (256 * 1024)}}, "metadata.annotation: Too long"),
    ],
)
def test_labels_and_annotations_that_no_object_may_have(answered: Any, text: str) -> None:
    assert failure(obj(), {"name": "a", "uid": "u", **answered}).startswith(
        f"invalid metadata: {text}"
    )


def test_metadata_must_be_metadata() -> None:
    original = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {}}
    assert (
        failure(original, ["a"])
        == "invalid metadata: invalid metadata of type []interface {} in converted object"
    )
    made = {"apiVersion": "example.com/v2", "kind": "Foo"}
    with pytest.raises(ConversionError, match="missing metadata in converted object"):
        converted_of(V1, [original], "example.com/v2", "1", answer(made))


def test_errors_about_one_of_many_say_which() -> None:
    sent = [obj(), obj()]
    cases: list[tuple[dict[str, Any], str]] = [
        (
            obj("v1"),
            "invalid converted object at index 1: invalid groupVersion (expected example.com/v2, "
            "received example.com/v1)",
        ),
        (
            obj("v2", name="b"),
            "invalid converted object at index 1: must have the same name: a != b",
        ),
        (
            obj("v2", labels=[]),
            "invalid metadata in object at index 1: invalid metadata.labels of type []interface {} "
            "in converted object",
        ),
    ]
    for wrong, text in cases:
        with pytest.raises(ConversionError) as raised:
            converted_of(V1, sent, "example.com/v2", "1", answer(obj("v2"), wrong))
        assert (
            str(raised.value) == f"conversion webhook for example.com/v1, Kind=Foo returned {text}"
        )
        assert raised.value.failure == "conversion_webhook_invalid_converted_object_failure"
    assert sent == [obj(), obj()]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (None, "^unexpected end of JSON input$"),
        (1, "^json: cannot unmarshal number into Go value of type map"),
        ("x", "^json: cannot unmarshal string into Go value of type map"),
        ([], "^json: cannot unmarshal array into Go value of type map"),
        ({}, "returned invalid object at index 0: Object 'Kind' is missing in '{}'$"),
        ({"apiVersion": "example.com/v2"}, "returned invalid object at index 0: Object 'Kind' is"),
    ],
)
def test_what_is_no_object_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        converted_of(V1, [obj()], "example.com/v2", "1", answer(wrong))


def test_the_older_review_asks_for_no_uid_and_no_kind() -> None:
    body = answer(obj("v2"), uid="other", kind="", review="v1beta1")
    assert converted_of(OLD, [obj()], "example.com/v2", "1", body) == [obj("v2")]
    with pytest.raises(ConversionError):
        converted_of(V1, [obj()], "example.com/v2", "1", body)


def test_numbers_without_a_fraction_are_integers() -> None:
    made = {**obj("v2"), "spec": {"n": 1.0, "m": 1.5}}
    (found,) = converted_of(V1, [obj()], "example.com/v2", "1", answer(made))
    assert orjson.dumps(found["spec"]) == b'{"n":1,"m":1.5}'
