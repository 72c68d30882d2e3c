import assert from "node:assert/strict";
import { test } from "node:test";

import { exactly, whole } from "../../../controlplane/console/static/console/lib/units.js";

test("numbers are read as people write them, and what is none is no number", () => {
  for (const [text, expected] of [
    ["500", 500], ["20k", 20_000], ["2Gi", 2 ** 31], ["2 GiB", 2 ** 31], ["1.5Mi", 1.5 * 2 ** 20],
    ["1,000,000", 1e6], ["3 GB", 3e9], ["262144 B", 262144], ["0", 0],
    ["2Gx", NaN], ["-1", NaN], ["0.5", NaN], ["many", NaN], ["B", NaN], ["9e99", NaN],
  ]) assert.deepEqual(whole(text), expected, text);
});

test("a number of bytes is written short where nothing is lost", () => {
  for (const [count, expected] of [
    [2 ** 31, "2Gi"], [1.5 * 2 ** 30, "1536Mi"], [512 * 1024, "512Ki"], [1000, "1000"], [0, "0"],
  ]) {
    assert.equal(exactly(count), expected);
    assert.equal(whole(expected), count);
  }
});
