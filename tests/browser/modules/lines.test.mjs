import assert from "node:assert/strict";
import { test } from "node:test";

import { difference, hunks } from "../../../controlplane/console/static/console/change/lines.js";

function script(before, after) {
  const lines = difference([...before], [...after]);
  const signs = { same: " ", removed: "-", added: "+" };
  for (const line of lines) {
    if (line.kind !== "added") assert.equal(before[line.before], line.text);
    if (line.kind !== "removed") assert.equal(after[line.after], line.text);
  }
  assert.equal(lines.filter((l) => l.kind !== "added").map((l) => l.text).join(""), before);
  assert.equal(lines.filter((l) => l.kind !== "removed").map((l) => l.text).join(""), after);
  return lines.map((l) => signs[l.kind] + l.text).join("");
}

test("the shortest script", () => {
  assert.equal(script("abc", "abc"), " a b c");
  assert.equal(script("abc", "axc"), " a-b+x c");
  assert.equal(script("", "ab"), "+a+b");
  assert.equal(script("ab", ""), "-a-b");
  assert.equal(script("", ""), "");
  for (const [a, b, edits] of [["abcabba", "cbabac", 5], ["abcdef", "bcdefa", 2], ["aXbXc", "abc", 2]]) {
    assert.equal([...script(a, b)].filter((c) => "+-".includes(c)).length, edits);
  }
});

/** Numbers that are the same each time. */
function* numbers(seed) {
  let state = seed;
  for (;;) {
    state = (state * 1103515245 + 12345) % 2147483648;
    yield state;
  }
}

function lengthOfCommon(a, b) {
  const row = Array(b.length + 1).fill(0);
  for (const x of a) {
    let diagonal = 0;
    for (let j = 1; j <= b.length; j += 1) {
      const above = row[j];
      row[j] = x === b[j - 1] ? diagonal + 1 : Math.max(row[j], row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.length];
}

test("always both texts again, with the fewest edits", () => {
  const next = numbers(7);
  const word = () => Array.from({ length: (next.next().value >> 8) % 12 },
    () => "abc"[(next.next().value >> 8) % 3]).join("");
  for (let i = 0; i < 2000; i += 1) {
    const [a, b] = [word(), word()];
    const edits = [...script(a, b)].filter((c) => "+-".includes(c)).length;
    assert.equal(edits, a.length + b.length - 2 * lengthOfCommon(a, b), `${a} ${b}`);
  }
});

test("texts without anything in common do not take all day", () => {
  const [a, b] = ["a", "b"].map((s) => Array.from({ length: 6000 }, (_, i) => `${s}${i}`));
  assert.equal(difference(a, b).length, 12000);
});

test("far lines are left out, important ones are not", () => {
  const lines = difference([..."abcdefghij"], [..."abcdXfghij"]);
  const show = (found) => found.map((l) => (l.kind === "gap" ? `(${l.count})` : l.text)).join("");
  assert.equal(show(hunks(lines, 1)), "(3)deXf(4)");
  assert.equal(show(hunks(lines, 1, (line) => line.text === "j")), "(3)deXf(2)ij");
});
