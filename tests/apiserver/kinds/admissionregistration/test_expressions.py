from __future__ import annotations

import pytest

from apiserver.kinds.admissionregistration.expressions import (
    ANNOTATION,
    CONDITION,
    MESSAGE,
    OBJECT,
    PATCHES,
    Expression,
    compiled,
)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (Expression("request.operation == 'CREATE'", CONDITION), ""),
        (Expression("'x'", CONDITION), "must evaluate to bool but got string"),
        (Expression("1", ANNOTATION), "must evaluate to one of [string null_type] but got int"),
        (Expression("params.x == 1", CONDITION), "undeclared reference to 'params'"),
        (Expression("params.x == 1", CONDITION, params=True), ""),
        (
            Expression("authorizer.path('/x').check('get').reason()", MESSAGE, authorizer=False),
            "undeclared reference to 'authorizer'",
        ),
        (Expression("variables.a == 1", CONDITION), "undeclared reference to 'variables'"),
        (Expression("variables.a == 1", CONDITION, variables=(("a", "1"),)), ""),
        (Expression("variables.b", variables=(("a", "1"),)), "undefined field 'b'"),
        (
            Expression("Object{metadata: Object.metadata{}}", OBJECT),
            "undeclared reference to 'Object",
        ),
        (Expression("Object{metadata: Object.metadata{}}", OBJECT, mutating=True), ""),
        (
            Expression('JSONPatch{op: "add"}', PATCHES, mutating=True),
            "must evaluate to list(JSONPatch) but got JSONPatch",
        ),
    ],
)
def test_what_may_be_used_where(expression: Expression, says: str) -> None:
    found = compiled(expression).error
    assert says in found and bool(says) == bool(found)
