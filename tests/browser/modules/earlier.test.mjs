import assert from "node:assert/strict";
import { test } from "node:test";

import { withEarlier } from "../../../controlplane/console/static/console/change/earlier.js";
import { SCHEMAS, TOY, toy } from "./worlds.mjs";

function spec(now, then, field) {
  const task = { schemas: SCHEMAS, node: TOY, base: toy(now), status: false };
  return withEarlier(task, toy(then), field)?.object.spec;
}

test("one field is as it was, and nothing else", () => {
  for (const [now, then, field, expected] of [
    [{ size: 2, mode: "Off" }, { size: 1, mode: "On" }, ".spec.size", { size: 1, mode: "Off" }],
    [{ size: 2, mode: "Off" }, { mode: "On" }, ".spec.size", { mode: "Off" }],
    [{ mode: "Off" }, { size: 1, mode: "On" }, ".spec.size", { size: 1, mode: "Off" }],
    [{ args: ["a", "b"] }, { args: ["b"] }, ".spec.args", { args: ["b"] }],
    [{ selector: { a: "1" } }, { selector: { b: "2" } }, ".spec.selector", { selector: { b: "2" } }],
    [{ size: 2 }, { size: 1 }, ".spec.mode", undefined],
  ]) assert.deepEqual(spec(now, then, field), expected, field);
});

test("items of lists are found by their keys, whose defaults may be left out", () => {
  const now = { ports: [{ port: 2 }, { port: 1, name: "new" }] };
  const then = { ports: [{ port: 1, name: "old" }, { port: 3, name: "gone" }] };
  const at = (port) => `.spec.ports[port=${port},protocol="TCP"]`;
  const first = spec(now, then, `${at(1)}.name`).ports;
  assert.deepEqual(first.map(({ port, name }) => [port, name]), [[2, undefined], [1, "old"]]);
  assert.deepEqual(spec(now, then, at(3)).ports.map(({ port }) => port), [2, 1, 3]);
  assert.deepEqual(spec(now, then, at(2)).ports.map(({ port }) => port), [1]);
  const back = spec(now, then, `${at(3)}.name`).ports[2];
  assert.deepEqual(back, { port: 3, protocol: "TCP", name: "gone" });
});
