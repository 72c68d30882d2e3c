// Answers that come in another order than their questions.

import assert from "node:assert/strict";
import { test } from "node:test";

const LIB = "../../../controlplane/console/static/console/lib";
const { newest } = await import(`${LIB}/newest.js`);

test("an answer is drawn unless one to a later question has been", () => {
  const begin = newest();
  const [first, second, third] = [begin(), begin(), begin()];
  assert.equal(first(), true);
  assert.equal(third(), true);
  assert.equal(second(), false);
  const fourth = begin();
  assert.equal(fourth(), true);
});
