import assert from "node:assert/strict";
import { test } from "node:test";

import { Deletions } from "../../../controlplane/console/static/console/views/past/deletions.js";

/** Lists of revisions whose answers are these, one after another: [[name, resource], ...] each. */
function serve(answers) {
  const asked = [];
  globalThis.document = { querySelector: () => null }; // a page of nobody's
  globalThis.fetch = async (address) => {
    const url = new URL(address, "http://server");
    const list = url.pathname.split("/").at(-1);
    const at = Number(url.searchParams.get("continue") ?? 0);
    asked.push(`${list} ${url.searchParams.get("fieldSelector")}`);
    const next = at + 1 < answers[list].length ? String(at + 1) : "";
    const items = answers[list][at].map(([name, resource]) => ({ metadata: { name }, resource }));
    return new Response(JSON.stringify({ items, metadata: { continue: next } }));
  };
  return asked;
}

function listOf(resource) {
  return { namespace: "", resource: { group: "g", version: "v1", resource } };
}

const names = ({ items }) => items.map(({ metadata }) => metadata.name);

test("what is rare is looked for in some answers, then again when the reader asks", async () => {
  const nothing = Array.from({ length: 8 }, () => []);
  const asked = serve({
    revisions: [[["90", "configmaps"]], ...nothing, [["7", "configmaps"]]],
    clusterrevisions: [[["80", "nodes"], ["5", "nodes"]]],
  });
  let drawn = 0;
  const lists = [listOf("revisions"), listOf("clusterrevisions")];
  const { signal } = new AbortController();
  const found = new Deletions("demo", lists, "", signal, () => (drawn += 1));
  await found.look();
  assert.deepEqual([names(found), found.open.length, asked.length], [["90", "80", "5"], 1, 9]);
  await found.look();
  assert.deepEqual([names(found), found.open.length], [["90", "80", "7", "5"], 0]);
  assert.equal(asked.length, 11);
  assert.equal(drawn, 10);
});

test("the newest comes first, also where numbers are too great to be exact", async () => {
  const [older, newer] = ["9007199254740992", "9007199254740993"];
  serve({ revisions: [[[older, "pods"]]], clusterrevisions: [[[newer, "nodes"]]] });
  const lists = [listOf("revisions"), listOf("clusterrevisions")];
  const found = new Deletions("demo", lists, "", new AbortController().signal, () => {});
  await found.look();
  assert.deepEqual(names(found), [newer, older]);
});

test("Events are left out and counted, unless they are asked for", async () => {
  const asked = serve({ revisions: [[["3", "events"], ["2", "pods"], ["1", "events"]]] });
  const look = async (kind) => {
    const { signal } = new AbortController();
    const found = new Deletions("demo", [listOf("revisions")], kind, signal, () => {});
    await found.look();
    return [names(found), found.events];
  };
  assert.deepEqual(await look(""), [["2"], 2]);
  assert.deepEqual(await look("events"), [["3", "2", "1"], 0]);
  assert.deepEqual(asked, [
    "revisions type=DELETED",
    "revisions type=DELETED,object.resource=events",
  ]);
});
