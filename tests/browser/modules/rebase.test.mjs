import assert from "node:assert/strict";
import { test } from "node:test";

import { changes } from "../../../controlplane/console/static/console/change/changes.js";
import { show } from "../../../controlplane/console/static/console/change/paths.js";
import { rebase, settle } from "../../../controlplane/console/static/console/change/rebase.js";
import { SCHEMAS, TOY, toy } from "./worlds.mjs";

/** [merged size, number of conflicts]; undefined is a field that is not there. */
function sizes(...values) {
  const [base, theirs, mine] = values.map((v) => toy(v === undefined ? {} : { size: v }));
  const { object, conflicts } = rebase(SCHEMAS, TOY, base, theirs, mine);
  return [object.spec.size, conflicts.length];
}

test("every case of the matrix", () => {
  for (const [base, theirs, mine, ...expected] of [
    [1, 1, 1, 1, 0], [1, 1, 2, 2, 0], [1, 1, undefined, undefined, 0],
    [1, 2, 1, 2, 0], [1, 2, 2, 2, 0], [1, 2, 3, 3, 1], [1, 2, undefined, undefined, 1],
    [1, undefined, 1, undefined, 0], [1, undefined, 2, 2, 1], [1, undefined, undefined, undefined, 0],
    [undefined, 1, undefined, 1, 0], [undefined, undefined, 1, 1, 0], [undefined, 1, 1, 1, 0],
    [undefined, 1, 2, 2, 1],
  ]) assert.deepEqual(sizes(base, theirs, mine), expected, String([base, theirs, mine]));
});

test("a conflict is settled either way", () => {
  const { object, conflicts: [conflict] } = rebase(SCHEMAS, TOY, toy({ size: 1, mode: "On" }),
    toy({ size: 2, mode: "On" }), toy({ mode: "Off" }));
  assert.deepEqual(object.spec, { mode: "Off" });
  assert.deepEqual(settle(object, conflict, "theirs").spec, { mode: "Off", size: 2 });
  assert.deepEqual(settle(object, conflict, "mine").spec, { mode: "Off" });
});

test("items of a list with keys are merged one by one, lists without as one value", () => {
  const base = toy({ ports: [{ port: 1, protocol: "TCP", name: "a" }, { port: 2, protocol: "TCP" }] });
  const theirs = toy({ ports: [{ port: 1, protocol: "TCP", name: "b" }, { port: 3, protocol: "UDP" }] });
  const mine = toy({ ports: [{ port: 9 }, { port: 1, name: "a" }, { port: 2 }] });
  const { object, conflicts } = rebase(SCHEMAS, TOY, SCHEMAS.keyed(TOY, base),
    SCHEMAS.keyed(TOY, theirs), SCHEMAS.keyed(TOY, mine));
  assert.deepEqual(conflicts, []);
  assert.deepEqual(object.spec.ports, [{ port: 9, protocol: "TCP" },
    { port: 1, protocol: "TCP", name: "b" }, { port: 3, protocol: "UDP" }]);
  const lists = rebase(SCHEMAS, TOY, toy({ args: ["a"] }), toy({ args: ["b"] }), toy({ args: ["c"] }));
  assert.deepEqual(lists.conflicts.map(({ path }) => show(path)), ["spec.args"]);
  assert.deepEqual(lists.object.spec.args, ["c"]);
});

test("an atomic map is one value", () => {
  const { conflicts } = rebase(SCHEMAS, TOY, toy({ selector: { a: "1" } }),
    toy({ selector: { a: "2" } }), toy({ selector: { a: "1", b: "1" } }));
  assert.deepEqual(conflicts.map(({ path }) => show(path)), ["spec.selector"]);
});

test("differences are told as the server tells fields apart", () => {
  const before = toy({ size: 1, args: ["a"], ports: [{ port: 1, protocol: "TCP" },
    { port: 2, protocol: "TCP" }] }, { labels: { "a.b/c": "x" }, finalizers: ["one", "two"] });
  const after = toy({ mode: "On", args: ["b"], ports: [{ port: 2, protocol: "TCP", name: "n" },
    { port: 1, protocol: "TCP" }] }, { labels: { "a.b/c": "y" }, finalizers: ["two", "three"] });
  const found = changes(SCHEMAS, TOY, before, after).map(({ path, kind }) => `${kind} ${show(path)}`);
  assert.deepEqual(found.sort(), [
    "added metadata.finalizers[=three]", "added spec.mode",
    "added spec.ports[port=2,protocol=TCP].name", "changed metadata.labels[a.b/c]",
    "changed spec.args", "moved spec.ports", "removed metadata.finalizers[=one]",
    "removed spec.size",
  ]);
});
