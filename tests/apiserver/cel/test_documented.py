"""The example expressions of the Kubernetes documentation, with the results that it describes.

Pages: "Common Expression Language in Kubernetes", validation rules of "Extend the Kubernetes API
with CustomResourceDefinitions", "Validating Admission Policy", "Mutating Admission Policy".
Examples without data get data here, once for each way they can go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.cel.plan.program import Program, compile, error_text
from apiserver.cel.types import DYN, STRING, list_type
from tests.apiserver.cel.schemas import schema_from

INTEGER, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 50}
NAMES = {"type": "array", "maxItems": 20, "items": TEXT}
SET = {**NAMES, "x-kubernetes-list-type": "set"}
DETAILS = {"type": "object", "maxProperties": 20, "additionalProperties": TEXT}


def keyed(by: str, **properties: Any) -> dict[str, Any]:
    items = {"type": "object", "required": [by], "properties": properties}
    return {
        "type": "array",
        "maxItems": 20,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [by],
        "items": items,
    }


SELF = {
    "minReplicas": INTEGER,
    "replicas": INTEGER,
    "maxReplicas": INTEGER,
    "maxLimit": INTEGER,
    "health": TEXT,
    "prefix": TEXT,
    "primary": TEXT,
    "stateCounts": {"type": "object", "maxProperties": 20, "additionalProperties": INTEGER},
    "list1": NAMES,
    "list2": NAMES,
    "set1": SET,
    "set2": SET,
    "names": SET,
    "details": DETAILS,
    "map1": DETAILS,
    "envars": keyed("name", name=TEXT, value=TEXT),
    "widgets": keyed("key", key=TEXT, foo=INTEGER),
    "clusters": keyed("name", name=TEXT),
    "created": {"type": "string", "format": "date-time"},
    "expired": {"type": "string", "format": "date-time"},
    "ttl": {"type": "string", "format": "duration"},
    "namespace": INTEGER,
    "x-prop": INTEGER,
    "redact__d": INTEGER,
    "string": TEXT,
    "intOrString": {"x-kubernetes-int-or-string": True},
}
TIMES = {"created": "2026-01-01T00:00:00Z", "ttl": "1h"}
RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # rule, an object that it accepts, one that it refuses
    (
        "self.minReplicas <= self.replicas",
        {"minReplicas": 1, "replicas": 1},
        {"minReplicas": 2, "replicas": 1},
    ),
    (
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
        {"minReplicas": 1, "replicas": 2, "maxReplicas": 3},
        {"minReplicas": 1, "replicas": 4, "maxReplicas": 3},
    ),
    (
        "'Available' in self.stateCounts",
        {"stateCounts": {"Available": 1}},
        {"stateCounts": {"Ready": 1}},
    ),
    (
        "(self.list1.size() == 0) != (self.list2.size() == 0)",
        {"list1": [], "list2": ["a"]},
        {"list1": ["b"], "list2": ["a"]},
    ),
    (
        "!('MY_KEY' in self.map1) || self.map1['MY_KEY'].matches('^[a-zA-Z]*$')",
        {"map1": {"MY_KEY": "abc"}},
        {"map1": {"MY_KEY": "a1"}},
    ),
    (
        "self.envars.filter(e, e.name == 'MY_ENV').all(e, e.value.matches('^[a-zA-Z]*$'))",
        {"envars": [{"name": "MY_ENV", "value": "abc"}, {"name": "X", "value": "1"}]},
        {"envars": [{"name": "MY_ENV", "value": "1"}]},
    ),
    (
        "has(self.expired) && self.created + self.ttl < self.expired",
        {**TIMES, "expired": "2026-01-01T01:00:01Z"},
        {**TIMES, "expired": "2026-01-01T01:00:00Z"},
    ),
    ("self.health.startsWith('ok')", {"health": "ok: ready"}, {"health": "not ok"}),
    (
        "self.widgets.exists(w, w.key == 'x' && w.foo < 10)",
        {"widgets": [{"key": "y", "foo": 20}, {"key": "x", "foo": 9}]},
        {"widgets": [{"key": "x", "foo": 10}]},
    ),
    (
        "self.set1.all(e, !(e in self.set2))",
        {"set1": ["a"], "set2": ["b"]},
        {"set1": ["a"], "set2": ["b", "a"]},
    ),
    (
        "self.names.size() == self.details.size() && self.names.all(n, n in self.details)",
        {"names": ["a"], "details": {"a": "1"}},
        {"names": ["a"], "details": {"b": "1"}},
    ),
    (
        "size(self.clusters.filter(c, c.name == self.primary)) == 1",
        {"primary": "a", "clusters": [{"name": "a"}]},
        {"primary": "b", "clusters": []},
    ),
    (
        "self.details.all(key, key.matches('^[a-zA-Z]*$'))",
        {"details": {"aZ": "1"}},
        {"details": {"a1": "x"}},
    ),
    (
        "self.details.all(key, self.details[key].matches('^[a-zA-Z]*$'))",
        {"details": {"1": "aZ"}},
        {"details": {"a": "1"}},
    ),
    ("self.__namespace__ > 0", {"namespace": 1}, {"namespace": 0}),
    ("self.x__dash__prop > 0", {"x-prop": 1}, {"x-prop": 0}),
    ("self.redact__underscores__d > 0", {"redact__d": 1}, {"redact__d": 0}),
    ("self.string.startsWith('kube')", {"string": "kubelet"}, {"string": "let"}),
    (
        "self.intOrString < 100 || self.intOrString == '50%'",
        {"intOrString": 50},
        {"intOrString": 100},
    ),
    (
        "self.intOrString == '50%' || self.intOrString < 100",
        {"intOrString": "50%"},
        {"intOrString": "60%"},
    ),
    (
        "self.metadata.name == 'singleton'",
        {"metadata": {"name": "singleton"}},
        {"metadata": {"name": "other"}},
    ),
    (
        "self.metadata.name.startsWith(self.prefix)",
        {"metadata": {"name": "ab"}, "prefix": "a"},
        {"metadata": {"name": "ab"}, "prefix": "b"},
    ),
]


@pytest.mark.parametrize(("rule", "good", "bad"), RULES, ids=[r[0] for r in RULES])
def test_rules_of_definitions(rule: str, good: dict[str, Any], bad: dict[str, Any]) -> None:
    schema = schema_from(
        {"type": "object", "properties": SELF, "x-kubernetes-validations": [{"rule": rule}]}
    )
    refused = (
        ["Forbidden"] * 3 if ".filter(e, e.name" in rule else []
    )  # sizes of what filter leaves are not known, here as upstream
    assert [e.body().partition(":")[0] for e in check_rules(schema, "schema")] == refused
    assert validate(compile_rules(schema), good).errors == []
    assert [e.body().partition(": ")[0] for e in validate(compile_rules(schema), bad).errors] == [
        "Invalid value"
    ]


def test_an_assignment_is_no_comparison() -> None:
    """One of the documentation's examples is written with ``=``: it does not compile."""
    rule = "self.envars.filter(e, e.name = 'MY_ENV').all(e, e.value.matches('^[a-zA-Z]*$'))"
    schema = schema_from(
        {"type": "object", "properties": SELF, "x-kubernetes-validations": [{"rule": rule}]}
    )
    assert "Syntax error: token recognition error at: '= '" in str(check_rules(schema, "schema")[0])


@pytest.mark.parametrize(
    ("schema", "rule", "old", "new", "accepted"),
    [
        (
            {"x-kubernetes-int-or-string": True},
            "type(self) == string ? self == '99%' : self == 42",
            None,
            "99%",
            True,
        ),
        (
            {"x-kubernetes-int-or-string": True},
            "type(self) == string ? self == '99%' : self == 42",
            None,
            42,
            True,
        ),
        (
            {"x-kubernetes-int-or-string": True},
            "type(self) == string ? self == '99%' : self == 42",
            None,
            99,
            False,
        ),
        (TEXT, "self == oldSelf", "a", "a", True),
        (TEXT, "self == oldSelf", "a", "b", False),
        (TEXT, "self == oldSelf", None, "b", True),
        (INTEGER, "self >= oldSelf", 5, 6, True),
        (INTEGER, "self >= oldSelf", 5, 4, False),
        (TEXT, "oldSelf != 'a' || self in ['b', 'c']", "a", "d", False),
        (SET, "oldSelf.all(element, element in self)", ["a"], ["b", "a"], True),
        (SET, "oldSelf.all(element, element in self)", ["a"], ["b"], False),
        (SET, "self + oldSelf == self", ["a"], ["b", "a"], True),
    ],
)
def test_transition_rules(
    schema: dict[str, Any], rule: str, old: Any, new: Any, accepted: bool
) -> None:
    made = schema_from(
        {
            "type": "object",
            "properties": {"v": {**schema, "x-kubernetes-validations": [{"rule": rule}]}},
        }
    )
    assert [str(e) for e in check_rules(made, "schema")] == []
    outcome = validate(
        compile_rules(made), {"v": new}, None if old is None else {"v": old}, ratchet=False
    )
    assert (outcome.errors == []) is accepted


def test_message_expressions() -> None:
    rule = {
        "rule": "self.replicas <= self.maxLimit",
        "messageExpression": "'x exceeded max limit of ' + string(self.maxLimit)",
    }
    schema = schema_from({"type": "object", "properties": SELF, "x-kubernetes-validations": [rule]})
    assert [
        e.body() for e in validate(compile_rules(schema), {"replicas": 9, "maxLimit": 5}).errors
    ] == ["Invalid value: x exceeded max limit of 5"]


ITEMS = {
    "items": [{"weight": 0.25, "priority": 1}, {"weight": 0.75, "priority": 2}],
    "low": [{"priority": 1}],
    "high": [{"priority": 3}],
}
LIBRARY: list[tuple[str, Any]] = [
    ("names.isSorted()", True),
    ("items.map(x, x.weight).sum() == 1.0", True),
    ("low.map(x, x.priority).max() < high.map(x, x.priority).min()", True),
    ("names.indexOf('should-be-first') == 1", False),
    ("\"abc 123\".find('[0-9]+')", "123"),
    ("\"abc 123\".find('[0-9]*')", ""),
    ("\"1, 2, 3, 4\".findAll('[0-9]+').map(x, int(x)).sum() < 100", True),
    ("url('https://example.com:80/').getHost()", "example.com:80"),
    ("url('https://example.com/path with spaces/').getEscapedPath()", "/path%20with%20spaces/"),
    ('quantity("500000G").isInteger()', True),
    ('quantity("50k").asInteger()', 50_000),
    (
        'quantity("9999999999999999999999999999999999999G").asApproximateFloat()',
        1.0000000000000001e46,
    ),
    ('quantity("50k").add(quantity("20k")) == quantity("70k")', True),
    ('quantity("50k").sub(20000) == quantity("30k")', True),
    ('quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")', True),
    ('quantity("200M").compareTo(quantity("0.2G"))', 0),
    ('quantity("150Mi").isGreaterThan(quantity("100Mi"))', True),
    ('quantity("50M").isLessThan(quantity("100M"))', True),
    ("isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.1.2')", True),
    ("ip('127.0.0.1').family() == 4 && ip('::1').family() == 6", True),
    ("ip('127.0.0.1').isLoopback() && !ip('192.168.0.1').isLoopback()", True),
    ("ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::abcd')", True),
    (
        "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && "
        "!cidr('192.168.0.0/24').containsIP('192.168.1.1')",
        True,
    ),
    ("cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))", True),
    (
        "string(cidr('192.168.1.5/24').masked()) == '192.168.1.0/24' && "
        "cidr('192.168.0.0/24').prefixLength() == 24",
        True,
    ),
    (
        "semver('1.2.3').major() == 1 && semver('1.2.3').compareTo(semver('1.2.4')) == -1 && "
        "isSemver('v1.0', true) && !isSemver('v1.0')",
        True,
    ),
    ("!format.dns1123Label().validate('my-label').hasValue()", True),
    (
        "sets.contains([1, 2, 3], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], "
        "[2, 1, 1])",
        True,
    ),
    ("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && [1, 2].all(i, v, v == i + 1)", True),
    (
        "[1, [2, [3]]].flatten(2) == [1, 2, 3] && [3, 1].sort() == [1, 3] && lists.range(3) == [0, "
        "1, 2]",
        None,
    ),
    (
        "'hello world'.replace('world', 'CEL').upperAscii() == 'HELLO CEL' && "
        "'a,b'.split(',').join('-') == 'a-b'",
        True,
    ),
]


@pytest.mark.parametrize(("source", "expected"), LIBRARY, ids=[e[0] for e in LIBRARY])
def test_libraries(source: str, expected: Any) -> None:
    env = BASE.extend(
        {
            "names": list_type(STRING),
            "items": list_type(DYN),
            "low": list_type(DYN),
            "high": list_type(DYN),
        }
    )
    program = compile(env, source)
    if expected is None:
        assert not isinstance(program, Program)  # mixed literals are refused
        assert "expected type 'int' but found 'list(" in error_text(source, program)
        return
    assert isinstance(program, Program), error_text(source, program)
    assert program.evaluate({"names": ["a", "b"], **ITEMS}) == expected
