"""Expressions that are written to do harm: short, and each the seed of endless work, of endless
memory, or of deep recursion."""

from __future__ import annotations

from typing import Any, Final

MEGABYTE: Final = 1_000_000
BINDINGS: Final[dict[str, Any]] = {
    "s": "a" * MEGABYTE,
    "e": "é" * MEGABYTE,
    "t": "ab" * 1000,
    "digits": "1" * MEGABYTE,
    "dots": "1." * (MEGABYTE // 2),
    "spans": "1h" * (MEGABYTE // 2),
    "link": "http://a/?" + "a=b&" * (MEGABYTE // 4),
    "escapes": "http://a/" + "%61" * (MEGABYTE // 3),
    "l": [f"name-{i}" for i in range(50_000)],
    "same": ["x" * 100_000] * 5000,
    "n": list(range(100_000)),
    "m": {f"k{i}": i for i in range(50_000)},
    "d": {"a": [{"b": [1, 2, 3]}] * 1000},
    "i": 3,
}


def chain(start: str, step: str, times: int, end: str = "") -> str:
    return start + step * times + end


PAIRS = chain("[[1]]", ".map(y, [y, y])", 26)
MAPS = chain("[{'a': 1}]", ".map(y, {'a': y, 'b': y})", 26)
LONG = chain("[[1, 2, 3]]", ".map(y, y + y)", 40, "[0]")
LISTED = ", ".join(["1"] * 20_000)
WORDS = ", ".join(f"'w{i}': i" for i in range(5000))

DOUBLED = chain("[[1, 2, 3]]", ".map(y, y + y)", 26, "[0].size() == 201326592")
"""What the review found: as many elements as fit no memory, of which only the number is asked
for."""

SHARED = [
    f"{PAIRS} == {PAIRS}",
    f"{PAIRS} != {PAIRS}",
    f"{PAIRS} in [{PAIRS}]",
    f"{PAIRS}.flatten(30).size() > 0",
    f"{MAPS} == {MAPS}",
    f"[{PAIRS}, {PAIRS}].distinct().size() == 1",
    f"sets.contains({PAIRS}, {PAIRS})",
    f"{PAIRS}.indexOf({PAIRS}[0]) == 0",
    f"{PAIRS}.lastIndexOf({PAIRS}[0]) == 0",
    f"optional.of({PAIRS}) == optional.of({PAIRS})",
    f"'%s'.format([{PAIRS}]).size() > 0",
    f"'%s'.format([{MAPS}]).size() > 0",
    f"{{dyn({PAIRS}): 1}}.size() > 0",
    f"optional.unwrap(dyn([{PAIRS}])).size() > 0",
    f"[?dyn({PAIRS})].size() > 0",
    f"dyn([{PAIRS}]).join() == ''",
    f"[{PAIRS}].exists(x, x == {PAIRS})",
    f"type({PAIRS}) == list && {PAIRS} == {PAIRS}",
    f"dyn({PAIRS}).indexOf(dyn('a')) < 0",
]
"""Values that hold themselves twice, 26 times over."""

GROWING = [
    f"{LONG} == {LONG}",
    f"1 in {LONG} && 5 in {LONG}",
    f"{LONG}.sum() > 0",
    f"{LONG}.max() == 3",
    f"{LONG}.isSorted()",
    f"{LONG}.sort().size() > 0",
    f"{LONG}.distinct().size() > 0",
    f"{LONG}.reverse().size() > 0",
    f"{LONG}.slice(5, 2000000).size() > 0",
    f"{LONG}.map(x, string(x)).join(',').size() > 0",
    f"{LONG}.all(x, x > 0)",
    f"{LONG}.filter(x, x > 5).size() == 0",
    f"{LONG}.exists_one(x, x == 1)",
    f"{LONG}.transformMap(k, v, v).size() > 0",
    f"sets.intersects({LONG}, [9])",
    f"{LONG}.indexOf(9) < 0",
    f"[{LONG}, {LONG}].flatten().size() > 0",
    f"'%d'.format({LONG}).size() > 0",
    f"{LONG} + {LONG} == {LONG}",
    chain("['a']", ".map(x, x + x)", 40, "[0].size() > 0"),
    chain("['a']", ".map(x, x.replace('a', x))", 40, "[0].size() > 0"),
    chain("['a']", ".map(x, [x, x, x].join(x))", 40, "[0].size() > 0"),
    chain("['a']", ".map(x, strings.quote(x) + x)", 40, "[0].size() > 0"),
    chain("['%s%s']", ".map(x, x.format([x, x]))", 40, "[0].size() > 0"),
    chain("[b'a']", ".map(x, x + x)", 40, "[0].size() > 0"),
    chain("[['a']]", ".map(x, [x.join('b') + 'c', x.join('d')] + x)", 40, "[0].size() > 0"),
    "t.replace('', s).size() > 0",
    "s.replace('a', t).size() > 0",
    "s.split('').map(x, s).join().size() > 0",
    "same.join().size() > 0",
    "s.split('').size() > 0",
    "e.split('').size() > 0",
    "[e, e, e, e].map(x, x.split('')).size() > 0",
    "lists.range(1000000000000).size() > 0",
    "lists.range(900000).size() > 0",
    "lists.range(60000).map(x, n + [x]).size() > 0",
    f"lists.range(60000).map(x, [{LISTED}, x]).size() > 0",
    f"lists.range(20000).map(i, {{{WORDS}}}).size() > 0",
    "'%.1000000000f'.format([1.0]).size() > 0",
    "'%.1000000000e'.format([1.0]).size() > 0",
    "'%.99999999999999999999f'.format([1.0]).size() > 0",
    "n.transformMap(k, v, string(v) + t).size() > 0",
    "n.transformMapEntry(k, v, m).size() > 0",
    "n.transformMapEntry(k, v, {string(v): t}).size() > 0",
    chain("[m]", ".map(x, x.transformMap(k, v, v))", 30, ".size() > 0"),
    "m.all(k, m.exists(j, true))",
    "n.all(x, m.exists(j, v, true))",
]
"""Results that are larger than what they are made of."""

SLOW = [
    "int(digits) > 0",
    "double(digits) > 0.0",
    "lists.range(50000).all(x, double(digits) > 0.0)",
    "lists.range(50000).all(x, duration(spans) > duration('1h'))",
    "lists.range(50000).all(x, duration(digits) > duration('1h'))",
    "timestamp(digits) > timestamp('2020-01-01T00:00:00Z')",
    "lists.range(50000).all(x, quantity('0'.replace('0', digits.substring(0, 1900)) + "
    "'x').isInteger())",
    "lists.range(50000).all(x, isQuantity(digits.substring(0, 1000).replace('1', '0') + 'x'))",
    "double(digits.substring(0, 60) + 'x') > 0.0",
    "quantity(digits).isInteger()",
    "quantity('1e2147483647').compareTo(quantity('1')) > 0",
    "quantity('1e2147483647').add(quantity('1')).isInteger()",
    "lists.range(9000).all(x, "
    "quantity('1e2147483647').add(quantity('1')).isGreaterThan(quantity('1')))",
    "semver('1.2.3-' + dots.substring(0, 900000) + '1').major() == 1",
    "lists.range(100).all(x, semver('1.2.3-' + dots.substring(0, 60001)) == semver('1.2.3-' + "
    "dots.substring(0, 60001)))",
    "isIP(dots)",
    "isCIDR(dots + '/8')",
    "ip(digits).family() == 4",
    "isURL(link)",
    "url(link).getQuery().size() > 0",
    "url(escapes).getEscapedPath().size() > 0",
    "[url(link)].all(u, lists.range(50000).all(x, u.getQuery().size() > 0))",
    "[url(escapes)].all(u, lists.range(50000).all(x, u.getEscapedPath() == ''))",
    "[url(escapes)].all(u, lists.range(50000).all(x, u == u))",
    "format.dns1123Subdomain().validate(dots).hasValue()",
    "format.uri().validate(link).hasValue()",
    "format.byte().validate(s).hasValue()",
    "lists.range(50000).all(x, timestamp('2020-01-01T00:00:00Z').getHours(s) == 0)",
    "lists.range(50000).all(x, timestamp('2020-01-01T00:00:00Z').getHours('Zone/' + string(x)) == "
    "0)",
    "s.upperAscii() == e.lowerAscii()",
    "strings.quote(e).size() > 0",
    "lists.range(9).all(x, strings.quote(e).size() > 0)",
    "s.trim() == e.trim()",
    "same.indexOf('x' + same[0].substring(1) + 'y') < 0",
    "(same[0].substring(1) + 'y') in same",
    "same == same.map(x, x.substring(1) + 'x')",
    "[same[0].substring(1) + 'y'] + same == same + ['']",
    "same.sort().size() > 0",
    "same.slice(0, 600).map(x, x.substring(1) + 'x').sort().size() > 0",
    "same.isSorted()",
    "same.max() == ''",
    "l.distinct().size() > 0",
    "l.sort().size() > 0",
    "n.sortBy(x, -x).size() > 0",
    "sets.equivalent(l, l)",
    "n.all(x, n.all(y, n.all(z, x + y + z >= 0)))",
    "n.all(x, n.lastIndexOf(-1) < 0)",
    "l.all(x, l.indexOf(x) >= 0)",
    "l.all(x, x in l)",
    f"n.all(x, x in [{LISTED}, 2])",
    f"n.all(x, {' && '.join(['true'] * 8000)})",
    "n.all(x, d == d)",
    "m == m && n.all(x, m == m)",
    "n.all(x, {1: m} == {1: m})",
    "dyn(m) == dyn({1: 2}) || lists.range(5000).all(x, n == n)",
    "lists.range(30000).transformMapEntry(i, v, {v * 281474976710656: v}).size() > 0",
    "lists.range(60000).exists_one(x, int(digits.substring(x, x + 18)) == 0)",
]
"""Work that upstream's costs do not show, or not enough of."""

PATTERNS = [
    "s.matches('(a{1000}){1}b')",
    "t.matches('(a|b)*a(a|b){900}c')",
    "(t + t + t + t + t).matches('(?:a|b)*a(?:a|b){1000}c')",
    "s.find('(a*)*b') == ''",
    "s.findAll('a').size() > 0",
    "s.findAll('').size() > 0",
    "e.findAll('').size() > 0",
    "s.findAll('a(.*b)?').size() > 0",
    "s.findAll('a', 5).size() == 5",
    "s.matches('\\\\pL{500}')",
    "s.matches('(\\\\pL{5}){50}')",
    "s.matches('" + "(?i:\\\\pL)" * 3000 + "')",
    "s.matches('" + "x{1000}" * 10_000 + "')",
    "s.matches('" + "a" * 90_000 + "')",
    "s.matches('" + "(" * 20_000 + ")" * 20_000 + "')",
    "s.matches(s)",
    "t.matches(t)",
    "lists.range(2000).all(x, 'a'.matches('(\\\\pL{5}){50}' + string(x)))",
    "lists.range(20000).all(x, 'a'.matches('a{1000}' + string(x)))",
    "lists.range(20000).all(x, 'a'.matches('x{1000}'.replace('x', string(x)) + '|"
    + "x{1000}" * 100
    + "'))",
]

DEEP = [
    chain("[1]", ".map(x, [[[[[[[[x]]]]]]]])", 200, " == []"),
    chain("[1]", ".map(x, [[[[[[[[x]]]]]]]])", 200, " == ")
    + chain("[1]", ".map(x, [[[[[[[[x]]]]]]]])", 200),
    "'%s'.format([" + chain("[1]", ".map(x, [[[[[[[[x]]]]]]]])", 200) + "]) == ''",
    "dyn(" + chain("[1]", ".map(x, [[[[[[[[x]]]]]]]])", 200) + ").flatten(100000) == []",
    chain("[[1]]", ".map(x, x" + " + x" * 100 + ")", 100, "[0][5] == 1"),
    chain("[[1]]", ".map(x, x" + " + [1]" * 200 + ")", 200, "[0].all(x, x == 1)"),
    chain("cel.bind(x, [1], ", "cel.bind(x, x + x, ", 60, "x.size() > 0" + ")" * 61),
    chain("[1].map(x, ", "[x].map(x, ", 100, "x" + ")" * 101 + ".size() > 0"),
    chain("optional.of(", "optional.of(", 200, "1" + ")" * 201 + " == optional.none()"),
    chain("", "{1: ", 100, "i" + "}" * 100 + " == {}"),
    chain("", "(", 240, "1" + ")" * 240 + " == 1"),
    chain("", "!", 90_000, "true"),
    chain("1", " + 1", 20_000, " > 0"),
    chain("[", "[", 90_000),
    chain("i", ".a", 40_000),
]

TYPES = [
    chain("[1]", ".map(y, {y: y})", 30, ".size() > 0"),
    chain("[1]", ".map(y, {y: y})", 30, " + 1 == 1"),
    chain("[1]", ".map(y, [{y: y}])", 30, " == i"),
    chain("[[]]", ".map(y, {dyn(1): [y, y]})", 100, " == i"),
    chain("[1]", ".map(y, [y, y])", 200, ".size() > 0"),
    "[" + ", ".join(["[1] + [1]"] * 9000) + "].size() > 0",
    "[" + ", ".join(["[] + []"] * 9000) + "].size() > 0",
    "[" + ", ".join(["[1].map(x, zz)"] * 5000) + "].size() > 0",
    "[" + ", ".join(f"zz{i}" for i in range(9000)) + "].size() > 0",
    "[" + ", ".join(["l.map(x, x + 1)"] * 5000) + "].size() > 0",
    "[" + LISTED + "] == n",
    "$" * 90_000,
    "?!@#" * 20_000,
    "i " * 45_000,
    "(i" * 45_000,
    "'" * 99_999,
    '"""' + "\\n" * 45_000,
    "9" * 99_000,
    "1e" + "9" * 90_000,
    "a." * 45_000 + "b{",
]
"""What keeps the parser, the checker or the printing of errors busy."""

ALL: Final = [DOUBLED, *SHARED, *GROWING, *SLOW, *PATTERNS, *DEEP, *TYPES]
