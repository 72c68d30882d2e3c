import assert from "node:assert/strict";
import { test } from "node:test";

import { AT_A_TIME, run } from "../../../controlplane/console/static/console/change/bulk.js";
import { NotPossible, mark, parseMarks, remove, restart, toType }
  from "../../../controlplane/console/static/console/change/requests.js";

test("a restart is the annotation that kubectl sets", () => {
  const { body, type } = restart({ spec: {} }, new Date("2026-01-31T14:05:06.789Z"));
  assert.equal(type, "application/merge-patch+json");
  assert.deepEqual(body.spec.template.metadata.annotations,
    { "kubectl.kubernetes.io/restartedAt": "2026-01-31T14:05:06Z" });
  assert.throws(() => restart({ spec: { paused: true } }, new Date()), NotPossible);
});

test("labels are set, overwritten only when asked, and taken away", () => {
  const object = { metadata: { labels: { a: "1", constructor: "x" } } };
  assert.deepEqual(mark(object, "labels", { a: "1", b: "2", c: null }).body,
    { metadata: { labels: { a: "1", b: "2", c: null } } });
  assert.throws(() => mark(object, "labels", { a: "2" }), /a is 1/);
  assert.deepEqual(mark(object, "labels", { a: "2" }, { overwrite: true }).body,
    { metadata: { labels: { a: "2" } } });
  assert.deepEqual(mark({ metadata: {} }, "labels", { constructor: "y" }).body,
    { metadata: { labels: { constructor: "y" } } });
});

test("what is typed for labels", () => {
  assert.deepEqual(parseMarks("a=1\n b=x=y z \nc-\nd=\n\n"), { a: "1", b: "x=y z", c: null, d: "" });
  assert.equal(JSON.stringify(parseMarks("__proto__=1\nconstructor-")), '{"__proto__":"1","constructor":null}');
  for (const text of ["a", "=1", "-", "a b"]) assert.throws(() => parseMarks(text), NotPossible, text);
});

test("a deletion means this very object", () => {
  assert.deepEqual(remove({ metadata: { uid: "u" } }, { propagation: "Orphan" }).body,
    { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Orphan", preconditions: { uid: "u" } });
  assert.equal(remove({ metadata: { uid: "u" } }, { gracePeriodSeconds: 0 }).body.gracePeriodSeconds, 0);
});

test("namespaces and definitions are typed before they go", () => {
  const objects = [{ metadata: { name: "shop" } }, { metadata: { name: "b" } }];
  assert.equal(toType({ group: "", resource: "namespaces" }, objects.slice(0, 1)), "shop");
  assert.equal(toType({ group: "", resource: "namespaces" }, objects), "delete 2");
  assert.equal(toType({ group: "apiextensions.k8s.io", resource: "customresourcedefinitions" },
    objects.slice(1)), "b");
  assert.equal(toType({ group: "", resource: "configmaps" }, objects), "");
  assert.equal(toType({ group: "other.dev", resource: "namespaces" }, objects), "");
});

test("each of many has its result, and a refusal stops no other", async () => {
  const [seen, waiting] = [[], { now: 0, most: 0 }];
  const counts = await run([0, 1, 2, 3, 4, 5, 6], async (n) => {
    waiting.now += 1;
    waiting.most = Math.max(waiting.most, waiting.now);
    await new Promise((resolve) => { setImmediate(resolve); });
    waiting.now -= 1;
    if (n === 3) throw new Error("not this one");
  }, (index, { state, error }) => seen.push([index, state, error?.message]));
  assert.deepEqual(counts, { done: 6, refused: 1, skipped: 0 });
  assert.equal(waiting.most, AT_A_TIME);
  assert.deepEqual(seen.filter(([index]) => index === 3),
    [[3, "running", undefined], [3, "refused", "not this one"]]);
});

test("stopped, the rest is skipped and what runs is finished", async () => {
  const stop = new AbortController();
  const counts = await run([...Array(20).keys()], async (n) => { if (n === 1) stop.abort(); },
    () => {}, stop.signal);
  assert.equal(counts.refused, 0);
  assert.ok(counts.skipped >= 14 && counts.done + counts.skipped === 20);
});
