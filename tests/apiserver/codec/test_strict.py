from apiserver.codec import json, strict
from apiserver.meta.gvk import GroupVersionKind

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def test_warnings_take_yaml_errors_apart() -> None:
    errors = [
        'error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in '
        "map\n  line 9: x",
        'unknown field "b"',
    ]
    assert strict.warnings_of(errors) == [
        'line 7: key "a" already set in map',
        "line 9: x",
        'unknown field "b"',
    ]


def test_headers_are_quoted_and_given_once() -> None:
    assert strict.warning_headers(['unknown field "a\\b"', "", "x", "x", "bad\ttext"]) == [
        '299 - "unknown field \\"a\\\\b\\""',
        '299 - "x"',
    ]


def test_too_many_warnings_are_cut_and_then_dropped() -> None:
    texts = [f"{i:04}" + "x" * 396 for i in range(40)]
    headers = strict.warning_headers(texts)
    assert all(len(h) == len('299 - ""') + 256 for h in headers)
    assert len(headers) == 16  # 16 * 256 = 4096 characters
    assert strict.warning_headers(texts[:10]) == [f'299 - "{t}"' for t in texts[:10]]


def test_a_single_overlong_warning_is_cut() -> None:
    assert strict.warning_headers(["y" * 5000]) == ['299 - "' + "y" * 256 + '"']


def test_rejections() -> None:
    e = strict.reject_strict(['unknown field "extra"', 'duplicate field "a"'], DEPLOYMENT)
    assert e.message == (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        'unknown field "extra", duplicate field "a"'
    )
    status = strict.reject_patch(['unknown field "extra"'], "map[extra:1]").to_status()
    assert status["message"] == (
        ' "" is invalid: patch: Invalid value: "map[extra:1]": strict decoding '
        'error: unknown field "extra"'
    )
    assert status["details"] == {
        "causes": [
            {
                "reason": "FieldValueInvalid",
                "message": (
                    'Invalid value: "map[extra:1]": strict decoding error: unknown field "extra"'
                ),
                "field": "patch",
            }
        ]
    }


def test_json_errors_come_in_document_order_and_not_from_below_unknown_members() -> None:
    body = b'{"a":1,"odd":{"x":1,"x":2},"a":2,"s":{"b":1,"b":2},"more":1}'
    _, duplicates = json.loads(body)
    assert duplicates == ['duplicate field "odd.x"', 'duplicate field "a"', 'duplicate field "s.b"']
    assert strict.join_errors(duplicates, ['unknown field "more"', 'unknown field "odd"']) == [
        'unknown field "odd"',
        'duplicate field "a"',
        'duplicate field "s.b"',
        'unknown field "more"',
    ]
    assert strict.join_errors(["yaml: x"], ['unknown field "a"']) == [
        "yaml: x",
        'unknown field "a"',
    ]
    assert strict.join_errors(json.loads(b"{}")[1], ["u"]) == ["u"]


def test_levels() -> None:
    assert strict.directive("") == "Warn"
