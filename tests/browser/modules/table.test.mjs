// A list by pages, from its beginning and from its end: what the server is asked, and what is there.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const LIB = "../../../controlplane/console/static/console/lib";
const { LiveTable } = await import(`${LIB}/table.js`);
const { reverseOf } = await import(`${LIB}/order.js`);

const MAPS = { group: "", version: "v1", resource: "configmaps", namespaced: true };
const GONE = { kind: "Status", status: "Failure", code: 410, reason: "Expired", message: "gone" };
let asked; // queries, in their order
let answers;

beforeEach(() => {
  asked = [];
  globalThis.requestAnimationFrame = () => 0;
  globalThis.document = {
    hidden: false,
    addEventListener() {},
    removeEventListener() {},
    querySelector: () => null, // a page of nobody's
  };
  globalThis.fetch = async (path) => {
    asked.push(new URL(path, "https://x").searchParams);
    const answer = answers.shift();
    return new Response(JSON.stringify(answer), { status: answer.code ?? 200 });
  };
});

function page(names, next = "", remaining = 0) {
  const rows = names.map((name) => {
    const [namespace, own] = name.includes("/") ? name.split("/") : ["ns", name];
    return { object: { metadata: { namespace, name: own } }, cells: [own] };
  });
  const metadata = { resourceVersion: "7", continue: next, remainingItemCount: remaining };
  return { kind: "Table", columnDefinitions: [{ name: "Name" }], rows, metadata };
}

function table({ namespace = "ns", sortBy = "", end = true } = {}) {
  const made = new LiveTable("t", MAPS, { namespace }, () => {}, async () => sortBy);
  made.wantsEnd = end;
  return made;
}

const load = (made) => made.load(new AbortController().signal);
const keys = (made) => [...made.rows.keys()];

test("from its end, in the order of the list, and on towards its beginning", async () => {
  answers = [page(["a", "b"], "on"), page(["f", "e"], "back", 4), page(["d", "c"], "further", 2)];
  const made = table();
  await load(made);
  assert.deepEqual(keys(made), ["ns/e", "ns/f"]);
  assert.deepEqual([made.atEnd, made.hasEnd, made.remaining], [true, true, 4]);
  await made.loadMore();
  assert.deepEqual(keys(made), ["ns/c", "ns/d", "ns/e", "ns/f"]);
  assert.deepEqual(
    asked.map((query) => [query.getAll("sortBy"), query.get("continue")]),
    [[[], null], [["-.metadata.name"], null], [["-.metadata.name"], "back"]],
  );
  assert.equal(made.more, "further");
});

test("of all namespaces the last one comes last", async () => {
  answers = [page(["a/x"], "on"), page(["z/a", "a/x"], "back")];
  const made = table({ namespace: "" });
  await load(made);
  assert.deepEqual(asked[1].getAll("sortBy"), ["-.metadata.namespace", "-.metadata.name"]);
  assert.deepEqual(keys(made), ["a/x", "z/a"]);
});

test("what comes later is below, as in a list from its beginning", async () => {
  answers = [page(["a"], "on"), page(["d", "c"], "")];
  const made = table();
  await load(made);
  made.apply("ADDED", page(["e"]).rows[0]);
  assert.deepEqual(keys(made), ["ns/c", "ns/d", "ns/e"]);
});

test("a list of one page has no end of its own", async () => {
  answers = [page(["a", "b"])];
  const made = table();
  await load(made);
  assert.deepEqual([made.atEnd, made.hasEnd, asked.length], [false, false, 1]);
  assert.deepEqual(keys(made), ["ns/a", "ns/b"]);
});

test("where the state of its pages is gone it is listed anew, from its end again", async () => {
  answers = [page(["a"], "on"), page(["d", "c"], "back"), GONE];
  const made = table();
  await load(made);
  await made.loadMore();
  assert.equal(made.turn.signal.aborted, true);
  answers = [page(["a"], "on"), page(["e", "d"], "back")];
  await load(made);
  assert.deepEqual(keys(made), ["ns/d", "ns/e"]);
});

test("a server that does not sort has no end, and its page is not turned round", async () => {
  answers = [page(["a", "b"], "on"), page(["a", "b"], "on")];
  const made = table();
  await load(made);
  assert.deepEqual(keys(made), ["ns/a", "ns/b"]);
  assert.deepEqual([made.atEnd, made.hasEnd, made.endless], [false, false, true]);
  answers = [page(["c"], "")];
  await made.loadMore();
  assert.deepEqual(asked.at(-1).getAll("sortBy"), []);
  assert.deepEqual(keys(made), ["ns/a", "ns/b", "ns/c"]);
});

test("what has gone meanwhile leaves an end of nothing", async () => {
  answers = [page(["a"], "on"), page([])];
  const made = table();
  await load(made);
  assert.deepEqual([keys(made), made.atEnd], [[], true]);
});

test("where all rows that are here have gone, those that are not are listed", async () => {
  answers = [page(["a", "b"], "on", 3)];
  const made = table({ end: false });
  await load(made);
  const gone = made.turn.signal;
  made.apply("DELETED", page(["a"]).rows[0]);
  assert.equal(gone.aborted, false);
  made.apply("DELETED", page(["b"]).rows[0]);
  assert.equal(gone.aborted, true);
  const whole = table({ end: false });
  answers = [page(["a"])];
  await load(whole);
  whole.apply("DELETED", page(["a"]).rows[0]);
  assert.equal(whole.turn.signal.aborted, false, "there are none");
});

test("a sorted list from its end", async () => {
  answers = [page(["a", "b"], "on"), page(["a", "b"], "back")];
  const made = table({ sortBy: "-.metadata.name" });
  await load(made);
  assert.deepEqual(asked[1].getAll("sortBy"), [".metadata.name"]);
  assert.deepEqual(keys(made), ["ns/b", "ns/a"]);
});

test("what turns an order round", () => {
  const [name, space, age] = ["-.metadata.name", "-.metadata.namespace", "-.metadata.creationTimestamp"];
  assert.deepEqual(reverseOf("", false), [name]);
  assert.deepEqual(reverseOf("", true), [space, name]);
  assert.deepEqual(reverseOf(".metadata.name", true), [name, space]);
  assert.deepEqual(reverseOf(".metadata.namespace", true), [space, name]);
  assert.deepEqual(reverseOf(age, true), [age.slice(1), space, name]);
  assert.deepEqual(reverseOf(space, true), [space.slice(1), name]);
});

test("what has no value comes first where an order is turned round", async () => {
  const [name, space] = ["-.metadata.name", "-.metadata.namespace"];
  assert.deepEqual(reverseOf(".spec.level", false), ["^-.spec.level", name]);
  assert.deepEqual(reverseOf("-.metadata.labels.app", true), ["^.metadata.labels.app", space, name]);
  answers = [page(["a", "b"], "on"), page(["none", "most"], "back")];
  const made = table({ sortBy: ".spec.level" });
  await load(made);
  assert.deepEqual(asked[1].getAll("sortBy"), ["^-.spec.level", name]);
  assert.deepEqual(keys(made), ["ns/most", "ns/none"]);
  assert.deepEqual([made.atEnd, made.hasEnd], [true, true]);
});

function row(name, at = 0) {
  return { ...page([name]).rows[0], at };
}

test("a paused list keeps one row of what changes all the time, and counts the changes", async () => {
  answers = [page(["a", "b"])];
  const made = table({ end: false });
  await load(made);
  made.paused = true;
  for (let at = 1; at <= 1000; at += 1) made.hold("MODIFIED", row("a", at));
  made.hold("ADDED", row("new"));
  made.hold("DELETED", row("new"));
  made.hold("DELETED", row("b"));
  made.hold("ADDED", row("b", 7));
  made.hold("ADDED", row("c"));
  assert.deepEqual([made.missed, made.waiting.size, keys(made)], [1005, 4, ["ns/a", "ns/b"]]);
  made.resume();
  assert.deepEqual(keys(made), ["ns/a", "ns/b", "ns/c"]);
  assert.deepEqual([made.rows.get("ns/a").at, made.rows.get("ns/b").at, made.missed], [1000, 7, 0]);
});

test("a list that is not whole counts what has come and gone while it was paused", async () => {
  answers = [page(["a"], "on", 5)];
  const made = table({ end: false });
  await load(made);
  made.paused = true;
  made.hold("ADDED", row("x"));
  made.hold("DELETED", row("y"));
  made.hold("DELETED", row("z"));
  made.resume();
  assert.deepEqual([keys(made), made.remaining], [["ns/a"], 4]);
});

test("a list that the server has no time for is asked for again, and says so meanwhile", async () => {
  const busy = { kind: "Status", status: "Failure", code: 429, reason: "TooManyRequests", message: "later" };
  const gone = { kind: "Status", status: "Failure", code: 403, reason: "Forbidden", message: "no" };
  answers = [busy, { ...busy, code: 503 }, page(["a"]), gone];
  const pause = globalThis.setTimeout;
  const made = table({ end: false });
  const troubles = [];
  globalThis.setTimeout = (run) => (troubles.push(made.trouble?.message ?? null), pause(run, 0));
  await made.run(new AbortController().signal);
  globalThis.setTimeout = pause;
  assert.deepEqual([troubles, keys(made), made.trouble, made.error.code], [["later", "later"], ["ns/a"], null, 403]);
});

test("a paused list whose watch is too far behind stands still until it goes on", async () => {
  answers = [page(["a"]), GONE, page(["b"]), { ...GONE, code: 403 }];
  const made = table({ end: false });
  made.changed = () => {};
  made.paused = true;
  const running = made.run(new AbortController().signal);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([keys(made), asked.length], [["ns/a"], 2]);
  made.resume();
  await running;
  assert.deepEqual(keys(made), ["ns/b"]);
});
