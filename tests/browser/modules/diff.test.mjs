// The difference of two texts: the shortest where it is short, and one in time where it is not.

import assert from "node:assert/strict";
import { test } from "node:test";

const LIB = "../../../controlplane/console/static/console/lib";
const { edits, hunks } = await import(`${LIB}/diff.js`);

/** What the edits make of the old, and of what they make the new. */
function sides(found) {
  const kept = (type) => found.filter((one) => one.type !== type).map(({ text }) => text);
  return [kept("new"), kept("gone")];
}

const changed = (found) => found.filter(({ type }) => type !== "same").length;
const numbered = (count, name) => Array.from({ length: count }, (_, at) => name(at));

test("what differs is the shortest edit", () => {
  const found = edits([..."abcabba"], [..."cbabac"]);
  assert.deepEqual(sides(found), [[..."abcabba"], [..."cbabac"]]);
  assert.equal(changed(found), 5);
});

test("any two texts are told as they are", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let turn = 0; turn < 300; turn += 1) {
    const [a, b] = [0, 1].map(() => numbered(random(30), () => String(random(6))));
    assert.deepEqual(sides(edits(a, b)), [a, b]);
  }
});

test("20,000 lines of which every fifth has changed take no minute, and no more than these differ", () => {
  const before = numbered(20_000, (at) => `line ${at}`);
  const after = numbered(20_000, (at) => `line ${at}${at % 5 ? "" : " changed"}`);
  const begun = performance.now();
  const found = edits(before, after);
  assert.ok(performance.now() - begun < 2000, `${performance.now() - begun} ms`);
  assert.deepEqual(sides(found), [before, after]);
  assert.equal(changed(found), 8000);
});

test("two texts of few different lines that have nothing else in common take no minute either", () => {
  const [before, after] = ["ab", "ba"].map((two) => numbered(20_000, (at) => two[at % 3 % 2] + (at % 7)));
  const begun = performance.now();
  assert.deepEqual(sides(edits(before, after)), [before, after]);
  assert.ok(performance.now() - begun < 2000, `${performance.now() - begun} ms`);
});

test("hunks have three lines around what has changed", () => {
  const before = numbered(20, String);
  const parts = hunks(edits(before, before.map((text) => (text === "10" ? "ten" : text))));
  assert.deepEqual(parts.map((part) => part.map(({ text }) => text)), [
    ["7", "8", "9", "10", "ten", "11", "12", "13"],
  ]);
});
