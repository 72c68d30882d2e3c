// What is typed into a list's filter: the server's selectors, columns, or words.

import assert from "node:assert/strict";
import { test } from "node:test";

const LIB = "../../../controlplane/console/static/console/lib";
const { read } = await import(`${LIB}/filters.js`);
const COLUMNS = [{ name: "Status" }];
const typed = (text) => read(text, COLUMNS).type;

test("selectors as kubectl -l takes them, also several, are for labels", () => {
  const selectors = ["app=web", "app=web,tier!=db", "tier in (a, b),!canary", "app==web, tier notin (a)",
    "!canary", "app.kubernetes.io/name=web", "weight>3", "weight < 10,app=web"];
  for (const text of selectors) assert.equal(typed(text), "label", text);
});

test("what cannot be one is a word, or means a column", () => {
  const words = ["web", "system:node", "a=b=c", "a,b", "<none>", "=web", "(x)", "app=web,", "a > b"];
  for (const text of words) assert.equal(typed(text), "word", text);
  assert.equal(typed("status: Running"), "column");
  assert.equal(typed("Status:=a=b,c"), "column");
});
