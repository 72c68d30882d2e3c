// Columns of a list: what a cell says counts, whatever the column is called.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.setInterval = () => 0; // time.js keeps the ages on a page right
const LIB = "../../../controlplane/console/static/console/lib";
const { columnsOf, compare, sorted } = await import(`${LIB}/columns.js`);
const { exact } = await import(`${LIB}/time.js`);
const { orderOf } = await import(`${LIB}/order.js`);

const NAME = { name: "Name", type: "string", format: "name" };
const HOUR = 3_600_000;
const now = Date.now();
const ago = (milliseconds) => new Date(now - milliseconds).toISOString().replace(/\.\d+/, "");

function columns(...definitions) {
  const all = columnsOf([NAME, ...definitions], { namespaces: true });
  return Object.fromEntries(all.map((column) => [column.name, column]));
}

function row(cell, created = ago(HOUR), at = now) {
  return { cells: ["x", cell], object: { metadata: { creationTimestamp: created } }, at };
}

test("a column called Age that holds a number is no age", () => {
  const { Age } = columns({ name: "Age", type: "integer" });
  assert.deepEqual([Age.text(row(42)), Age.value(row(42)), Age.time, Age.path], ["42", 42, undefined, undefined]);
});

test("an Age that tells another time than the object's own is that time", () => {
  const { Age } = columns({ name: "Age", type: "date" });
  assert.equal(Age.text(row("60m", ago(HOUR))), ago(HOUR));
  assert.deepEqual(Age.time(row("5d", ago(HOUR))), { at: now - 5 * 24 * HOUR, exact: false });
  assert.deepEqual([Age.time(row("", ago(HOUR))), Age.text(row("", ago(HOUR)))], [null, ""]);
});

test("the Age of a built-in kind is exact", () => {
  const { Age } = columns({ name: "Age", type: "string" });
  assert.equal(Age.text(row("<unknown>", ago(HOUR))), ago(HOUR));
});

test("an age that was printed an hour ago is older now", () => {
  const { Backup } = columns({ name: "Backup", type: "date" });
  const printed = row("2h", ago(0), now - HOUR);
  assert.equal(Backup.text(printed), "3h");
  const rows = [row("", ago(0)), row("5m"), row("3d2h"), row("2h")];
  const order = (by) => sorted(rows, Object.values(columns({ name: "Backup", type: "date" })), by);
  assert.deepEqual(order("Backup").map((one) => one.cells[1]), ["5m", "2h", "3d2h", ""]);
});

test("a definition's columns keep their names beside those of the metadata", () => {
  const all = columns({ name: "Version", type: "string" });
  assert.equal(all.Version.text(row("1.2")), "1.2");
  assert.equal(all["Version (metadata)"].hidden, true);
  assert.equal(all.Owner.hidden, true);
});

test("quantities are compared by what they stand for", () => {
  const sizes = ["2Ti", "500Mi", "1Gi", "1500m", "2"];
  assert.deepEqual(sizes.sort(compare), ["1500m", "2", "500Mi", "1Gi", "2Ti"]);
  assert.deepEqual(["1.18", "1.9"].sort(compare), ["1.9", "1.18"]);
});

test("half hours of a zone are told as such", () => {
  const offsets = [[-330, "+5:30"], [210, "-3:30"], [-60, "+1"], [0, ""]];
  for (const [minutes, told] of offsets) {
    Date.prototype.getTimezoneOffset = () => minutes;
    assert.ok(exact(now).endsWith(` UTC${told}`), exact(now));
  }
});

test("the server is asked to sort by a built-in kind's own age", async () => {
  const all = columnsOf([NAME, { name: "Age", type: "string" }], { namespaces: false });
  assert.equal(await orderOf("t", { group: "", resource: "pods" }, all, "-Age"), ".metadata.creationTimestamp");
});
