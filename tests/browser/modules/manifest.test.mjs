// Numbers in YAML, as kubectl prints them.

import assert from "node:assert/strict";
import { test } from "node:test";

const CONSOLE = "../../../controlplane/console/static/console";
const { manifest, textOf } = await import(`${CONSOLE}/lib/manifest.js`);
const { parse } = await import(`${CONSOLE}/change/exact.js`);

const PRINTED = [
  ["9007199254740993", "9007199254740993"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["12345678901234567890", "12345678901234567000"],
  ["100000000000000000000", "1e+20"],
  ["1.0", "1"],
  ["1e6", "1000000"],
  ["1e21", "1e+21"],
  ["1.5", "1.5"],
  ["123456.75", "123456.75"],
  ["1000000.5", "1.0000005e+06"],
  ["0.00001", "1e-05"],
  ["-0.5", "-0.5"],
  ["1e400", "1e400"],
];

test("whole numbers of 64 bits keep their digits, all others are doubles", () => {
  for (const [text, printed] of PRINTED) {
    assert.equal(textOf(manifest(parse(`{"is":${text}}`))), `is: ${printed}\n`, text);
  }
});
