from __future__ import annotations

from apiserver.fielderrors import FieldPath
from apiserver.schema.labelselector import (
    validate_label_selector,
    validate_labels,
)

PATH = FieldPath("spec.selector")


def test_expressions() -> None:
    selector = {
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "b", "operator": "Exists", "values": ["c"]},
            {"key": "d", "operator": "Like"},
            {"key": "", "operator": "In", "values": ["?"]},
        ]
    }
    told = [str(e) for e in validate_label_selector(selector, PATH)]
    assert told[:4] == [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when "
        "`operator` is 'In' or 'NotIn'",
        "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` "
        "is 'Exists' or 'DoesNotExist'",
        'spec.selector.matchExpressions[2].operator: Invalid value: "Like": not a valid selector '
        "operator",
        'spec.selector.matchExpressions[3].key: Invalid value: "": name part must be non-empty',
    ]
    assert told[-1].startswith(
        'spec.selector.matchExpressions[3].values[0]: Invalid value: "?": a valid label must be'
    )


def test_reviews_may_have_operators_that_nobody_knows() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}
    assert len(validate_label_selector(selector, PATH)) == 1
    assert validate_label_selector(selector, PATH, allow_unknown_operators=True) == []


def test_labels() -> None:
    assert [
        e.path for e in validate_labels({"-": "ok", "ok": "-"}, FieldPath("metadata.labels"))
    ] == ["metadata.labels"] * 2
    assert validate_labels(None, PATH) == []
