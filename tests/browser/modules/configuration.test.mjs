import assert from "node:assert/strict";
import { test } from "node:test";

import { configuration, editable, imposed, notDone, taken, whole }
  from "../../../controlplane/console/static/console/change/configuration.js";
import { owners } from "../../../controlplane/console/static/console/change/ownership.js";
import { show } from "../../../controlplane/console/static/console/change/paths.js";
import { SCHEMAS, TOY, toy } from "./worlds.mjs";

const PORT = 'k:{"port":1,"protocol":"TCP"}';
const LIVE = toy(
  { size: 3, mode: "On", args: ["a"], ports: [{ port: 1, protocol: "TCP", name: "p" }] },
  {
    uid: "u", resourceVersion: "7", namespace: "ns", labels: { a: "1", b: "2" },
    managedFields: [
      { manager: "me", operation: "Apply", apiVersion: "toys.dev/v1", fieldsV1: {
        "f:metadata": { "f:labels": { "f:a": {} } },
        "f:spec": { "f:args": {}, "f:ports": { [PORT]: { ".": {}, "f:port": {} } } } } },
      { manager: "you", operation: "Apply", apiVersion: "toys.dev/v1", fieldsV1: {
        "f:spec": { "f:size": {} } } },
      { manager: "edit", operation: "Update", apiVersion: "toys.dev/v1", fieldsV1: {
        "f:spec": { "f:mode": {} } } },
    ],
  },
);
LIVE.status = { ready: true };

function sent(change, manager = "me", leave = []) {
  const mine = structuredClone(editable(LIVE));
  change(mine);
  return configuration(SCHEMAS, TOY, LIVE, mine, manager, leave);
}

const ADDRESS = { name: "t", namespace: "ns", uid: "u", resourceVersion: "7" };

test("status and what the server fills in are not edited", () => {
  assert.deepEqual(editable(LIVE).metadata, { name: "t", namespace: "ns", labels: { a: "1", b: "2" } });
  assert.equal("status" in editable(LIVE), false);
  assert.deepEqual(editable(LIVE, { status: true }).status, { ready: true });
});

test("a manager without a field sends only what it changes", () => {
  const { object, beyond } = sent((mine) => { mine.spec.size = 4; }, "new");
  assert.deepEqual(object, { apiVersion: "toys.dev/v1", kind: "Toy", metadata: ADDRESS,
    spec: { size: 4 } });
  assert.deepEqual(beyond, []);
});

test("a manager with fields sends them again, so that it keeps them", () => {
  const { object } = sent((mine) => { mine.spec.size = 4; });
  assert.deepEqual(object, { apiVersion: "toys.dev/v1", kind: "Toy",
    metadata: { labels: { a: "1" }, ...ADDRESS },
    spec: { args: ["a"], ports: [{ port: 1, protocol: "TCP" }], size: 4 } });
});

test("what is taken out of the text is taken out of the configuration", () => {
  const { object, beyond } = sent((mine) => { delete mine.metadata.labels.a; delete mine.spec.mode; });
  assert.equal("labels" in object.metadata, false);
  assert.deepEqual(beyond.map(({ path }) => show(path)).sort(), ["metadata.labels.a", "spec.mode"]);
  const answer = structuredClone(LIVE);
  delete answer.metadata.labels.a;
  assert.deepEqual(notDone(SCHEMAS, TOY, beyond, answer).map(({ path }) => show(path)), ["spec.mode"]);
});

test("an item of a list goes with its keys and nothing else", () => {
  const { object } = sent((mine) => { mine.spec.ports[0].name = "q"; }, "new");
  assert.deepEqual(object.spec, { ports: [{ port: 1, protocol: "TCP", name: "q" }] });
});

test("a field that is left is not sent", () => {
  const { object } = sent((mine) => { mine.spec.size = 4; mine.spec.mode = "Off"; }, "new",
    [["spec", "size"]]);
  assert.deepEqual(object.spec, { mode: "Off" });
});

test("empty maps and lists, and nulls, are values", () => {
  const { object } = sent((mine) => { mine.spec.args = []; mine.spec.selector = {}; mine.spec.mode = null; },
    "new");
  assert.deepEqual(object.spec, { args: [], selector: {}, mode: null });
});

test("fields of another version are not guessed at", () => {
  const live = structuredClone(LIVE);
  live.metadata.managedFields[0].apiVersion = "toys.dev/v1beta1";
  assert.equal(configuration(SCHEMAS, TOY, live, editable(live), "me").foreign, true);
  assert.equal(sent(() => {}).foreign, false);
});

test("an update is about the state that was opened", () => {
  assert.deepEqual(whole(LIVE, editable(LIVE)).metadata,
    { name: "t", namespace: "ns", labels: { a: "1", b: "2" }, uid: "u", resourceVersion: "7" });
});

test("owners of a field, of what holds it, and of the items of a list", () => {
  const names = (path) => owners(LIVE, path).map((o) => o.manager);
  assert.deepEqual(names(["spec", "size"]), ["you"]);
  assert.deepEqual(names(["spec", "args", 0]), ["me"]);
  assert.deepEqual(names(["spec"]), ["me", "you", "edit"]);
  assert.deepEqual(names(["spec", "ports", { key: { port: 1, protocol: "TCP" } }, "name"]), []);
  assert.deepEqual(names(["metadata", "labels", "b"]), []);
});

test("an update tells from whom it takes", () => {
  const { differences } = sent((mine) => { mine.spec.size = 4; mine.spec.mode = "Off"; });
  assert.deepEqual(taken(LIVE, differences, "me").map(({ path, managers }) =>
    [show(path), managers.map((m) => m.manager)]), [["spec.size", ["you"]]]);
});

test("what admission and defaults put in is told", () => {
  const asked = toy({ size: 1, ports: [{ port: 5 }] });
  const answer = toy({ size: 2, mode: "On", ports: [{ port: 5, protocol: "TCP" }] }, { uid: "x" });
  assert.deepEqual(imposed(SCHEMAS, TOY, asked, answer).map(({ path, kind }) => [show(path), kind]),
    [["spec.size", "changed"], ["spec.mode", "added"]]);
});
