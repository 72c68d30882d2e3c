import assert from "node:assert/strict";
import { test } from "node:test";

import { Exact, clone, equal, has, number, parse, stringify } from "../../../controlplane/console/static/console/change/exact.js";
import { print, read } from "../../../controlplane/console/static/console/change/text.js";

const VALUES = [
  "9007199254740993", "-9223372036854775808", "18446744073709551615", "1.0", "0.1", "1e400", "1e3",
  "-0", "0", "null", "true", '""', '"100m"', '"1Gi"', "[]", "{}", "[[],{}]", '{"a":null,"b":[]}',
  '"\\u0000\\"\\\\"', '{"__proto__":1,"constructor":2}', '"0644"', '"yes"', '"1:30"', '"2024-01-01"',
  '"null"', '"~"', '"<<"', '"="', '"1_000"', '"line\\nline\\n"', '"line\\n\\n"', '" x\\ny"',
  '"1e3"', '".5"', '"0x1F"', '"# no comment"', '"a: b"', '"😀"', '"\u2028"',
];

test("what JSON says is said again, sign by sign", () => {
  for (const text of VALUES) assert.equal(stringify(parse(text)), text);
});

test("what JSON says survives YAML", () => {
  for (const text of VALUES) {
    const { value, problems } = read(print({ field: parse(text), list: [parse(text)] }));
    assert.deepEqual(problems, []);
    assert.equal(stringify(value), `{"field":${text},"list":[${text}]}`);
  }
});

test("a number that a double would change keeps its text, any other is a number", () => {
  assert.ok(number("9007199254740993") instanceof Exact);
  assert.equal(number("9007199254740992"), 9007199254740992);
  assert.ok(equal(parse("[9007199254740993]"), parse("[9007199254740993]")));
  assert.ok(!equal(parse("9007199254740993"), parse("9007199254740992")));
  assert.ok(equal(clone(parse('{"a":1.0}')), parse('{"a":1.0}')));
});

test("members of prototypes are no members of objects", () => {
  assert.equal(has({}, "constructor"), false);
  assert.equal(has(parse('{"__proto__":1}'), "__proto__"), true);
  assert.equal(equal({ a: 1 }, JSON.parse('{"b":1}')), false);
  assert.equal({}.polluted, undefined);
});

test("no JSON is refused", () => {
  for (const text of ["", "{", "[1,]", "01", "{a:1}", '"\n"', "1 2", "nul", "'a'", "+1", "1."]) {
    assert.throws(() => parse(text), SyntaxError, text);
  }
});

test("YAML is read as kubectl reads it", () => {
  const { value } = read("a: 0644\nb: yes\nc: 2024-01-01\nd: 1:30\ne: ~\nf:\ng: off\n1: x\nh: +5\n");
  assert.deepEqual(value, {
    1: "x", a: 420, b: true, c: "2024-01-01", d: "1:30", e: null, f: null, g: false, h: 5,
  });
});

test("YAML that cannot be an object of the API says where", () => {
  for (const [text, at] of [["a: 1\na: 2", 5], ["a: !!binary aGk=", 3], ["a: .nan", 3],
    ["a: &x {b: 1}\nc:\n  <<: *x", 18], ["a: [", 4]]) {
    const { value, problems } = read(text);
    assert.equal(value, undefined, text);
    assert.equal(problems[0].from, at, text);
  }
});

test("aliases do not multiply without end", () => {
  const lines = ["a: &a [x, x]"];
  for (let i = 0; i < 12; i += 1) {
    const [name, last] = ["abcdefghijklmn"[i + 1], "abcdefghijklmn"[i]];
    lines.push(`${name}: &${name} [*${last}, *${last}, *${last}]`);
  }
  assert.match(read(lines.join("\n")).problems[0].message, /too many aliases/);
});

test("an end without another document is none, and another one is refused", () => {
  for (const end of ["---", "---\n", "---\r\n", "---  \n\n"]) {
    assert.deepEqual(read(`a: b\n${end}`).value, { a: "b" }, JSON.stringify(end));
  }
  for (const rest of ["---\na: c\n", "---\nb: c\n---\n"]) {
    assert.match(read(`a: b\n${rest}`).problems[0].message, /one object at a time/, rest);
  }
});
