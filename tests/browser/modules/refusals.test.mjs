import assert from "node:assert/strict";
import { test } from "node:test";

import { get, resolve, set, show } from "../../../controlplane/console/static/console/change/paths.js";
import { conflicts, kindOf, onlyWith, places }
  from "../../../controlplane/console/static/console/change/refusals.js";
import { toy } from "./worlds.mjs";

const SENT = toy({ size: 1, ports: [{ port: 1, name: "p" }, { port: 1, protocol: "UDP" }] },
  { labels: { "a.b/c": "x", a: "y" }, finalizers: ["one"] });

function conflict(...causes) {
  return { reason: "Conflict", code: 409, details: { causes: causes.map(([message, field]) => (
    { reason: "FieldManagerConflict", message, field })) } };
}

test("paths as servers print them lead to fields", () => {
  for (const [text, path] of [
    [".spec.size", ["spec", "size"]],
    ["spec.ports[1].protocol", ["spec", "ports", 1, "protocol"]],
    ['.spec.ports[port=1,protocol="UDP"].protocol',
      ["spec", "ports", { key: { port: 1, protocol: "UDP" } }, "protocol"]],
    ['.spec.ports[port=1,protocol="TCP"].name',
      ["spec", "ports", { key: { port: 1, protocol: "TCP" } }, "name"]],
    [".metadata.labels.a.b/c", ["metadata", "labels", "a.b/c"]],
    ["metadata.labels[a.b/c]", ["metadata", "labels", "a.b/c"]],
    ['.metadata.finalizers[="one"]', ["metadata", "finalizers", { value: "one" }]],
  ]) assert.deepEqual(resolve(text, SENT), { path, whole: true }, text);
  assert.deepEqual(resolve("spec.missing.more", SENT), { path: ["spec"], whole: false });
  assert.deepEqual(resolve("nowhere", SENT), { path: [], whole: false });
});

test("set makes what leads to a field, and takes fields away", () => {
  const path = ["spec", "ports", { key: { port: 2, protocol: "TCP" } }, "name"];
  const made = set({ spec: {} }, path, "x");
  assert.deepEqual(made, { spec: { ports: [{ port: 2, protocol: "TCP", name: "x" }] } });
  assert.equal(get(made, path), "x");
  assert.deepEqual(set(made, path, undefined), { spec: { ports: [{ port: 2, protocol: "TCP" }] } });
  assert.deepEqual(set({}, path, undefined), {});
  assert.equal(show(path), "spec.ports[port=2,protocol=TCP].name");
});

test("a field conflict names its managers", () => {
  const status = conflict(['conflict with "kubectl" using apps/v1', ".spec.size"],
    ['conflict with "a \\"b\\"" with subresource "scale" using v1', ".spec.size"],
    ['conflict with "one"', ".metadata.labels.a.b/c"]);
  assert.equal(kindOf(status), "conflict");
  assert.deepEqual(conflicts(status, SENT), [
    { text: ".spec.size", path: ["spec", "size"], managers: [
      { manager: "kubectl", apiVersion: "apps/v1" },
      { manager: 'a "b"', subresource: "scale", apiVersion: "v1" }] },
    { text: ".metadata.labels.a.b/c", path: ["metadata", "labels", "a.b/c"],
      managers: [{ manager: "one" }] },
  ]);
});

test("only with oneself is no conflict with others", () => {
  const mine = conflict(['conflict with "me" using v1', ".spec.size"]);
  assert.equal(onlyWith(conflicts(mine, SENT), "me"), true);
  assert.equal(onlyWith(conflicts(mine, SENT), "you"), false);
  assert.equal(onlyWith([], "me"), false);
});

test("what a refusal means", () => {
  for (const [status, kind] of [
    [{ reason: "Conflict", message: "the object has been modified" }, "stale"],
    [{ reason: "Conflict", message: "uid mismatch: ..." }, "gone"],
    [{ reason: "NotFound" }, "gone"],
    [{ reason: "AlreadyExists" }, "exists"],
    [{ reason: "Forbidden", message: "x is forbidden: User ..." }, "forbidden"],
    [{ reason: "Forbidden", message: "x is forbidden: exceeded quota: tenant t is limited to 9 objects" }, "full"],
    [{ reason: "Invalid", details: { causes: [{ field: "spec.size", message: "m" }] } }, "invalid"],
    [{ message: "failed to create typed patch object (/d; v1, Kind=Toy): .spec.foo: field not declared in schema" },
      "invalid"],
    [{ reason: "InternalError", message: "boom" }, "refused"],
  ]) assert.equal(kindOf(status), kind, JSON.stringify(status));
});

test("refused fields are found in what was sent, each once", () => {
  const cause = { field: "spec.ports[1].protocol", message: "no" };
  assert.deepEqual(places({ details: { causes: [cause, cause] } }, SENT), [
    { path: ["spec", "ports", 1, "protocol"], whole: true, text: cause.field, message: "no" }]);
  const strict = { message: 'strict decoding error: unknown field "spec.foo", duplicate field "spec.size"' };
  assert.deepEqual(places(strict, SENT).map(({ path, message }) => [show(path), message]),
    [["spec", "unknown field"], ["spec.size", "duplicate field"]]);
  const typed = { message: "failed to create typed patch object (/t; toys.dev/v1, Kind=Toy): errors:\n"
    + "  .spec.size: expected numeric (int or float), got string\n  .spec.foo: field not declared in schema" };
  assert.deepEqual(places(typed, SENT).map(({ text, message }) => [text, message]), [
    [".spec.size", "expected numeric (int or float), got string"],
    [".spec.foo", "field not declared in schema"]]);
});
