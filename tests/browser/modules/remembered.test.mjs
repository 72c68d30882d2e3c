// Answers that are remembered: for how long, and which are not.

import assert from "node:assert/strict";
import { test } from "node:test";

const LIB = "../../../controlplane/console/static/console/lib";
const { remembered } = await import(`${LIB}/remembered.js`);

test("an answer is asked for once, by those who want it meanwhile too", async () => {
  const answers = remembered(60_000);
  let asked = 0;
  const ask = async () => (asked += 1);
  assert.deepEqual(await Promise.all([answers.of("a", ask), answers.of("a", ask)]), [1, 1]);
  assert.equal(await answers.of("b", ask), 2);
  answers.forget();
  assert.equal(await answers.of("a", ask), 3);
});

test("what is too old is asked for again", async () => {
  const answers = remembered(0);
  assert.equal(await answers.of("a", async () => 1), 1);
  assert.equal(await answers.of("a", async () => 2), 2);
});

test("what has failed is not remembered, nor does it take a later answer with it", async () => {
  const answers = remembered(60_000);
  let fail;
  const failing = answers.of("a", () => new Promise((_, reject) => (fail = reject)));
  answers.forget();
  assert.equal(await answers.of("a", async () => 2), 2);
  fail(new Error("away"));
  await assert.rejects(failing);
  assert.equal(await answers.of("a", async () => 3), 2);
  await assert.rejects(answers.of("b", async () => { throw new Error("away"); }));
  assert.equal(await answers.of("b", async () => 4), 4);
});
