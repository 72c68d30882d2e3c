import assert from "node:assert/strict";
import { test } from "node:test";

import { linePaths, placeAt } from "../../../controlplane/console/static/console/change/cursor.js";

const POD = `apiVersion: v1
metadata:
  labels:
    "a.b/c": x
spec:
  containers:
  - name: one
    args:
    - a
    - b: |
        text: no
          deeper: no
    ports:
      - containerPort: 80
        protocol: TCP
  - image: two
  nodeName: n
data: {a: 1}`;

test("each line has its path", () => {
  assert.deepEqual(linePaths(POD).map((path) => path.join("/")), [
    "apiVersion", "metadata", "metadata/labels", "metadata/labels/a.b/c", "spec",
    "spec/containers", "spec/containers/0/name", "spec/containers/0/args",
    "spec/containers/0/args/0", "spec/containers/0/args/1/b", "spec/containers/0/args/1/b",
    "spec/containers/0/args/1/b", "spec/containers/0/ports",
    "spec/containers/0/ports/0/containerPort", "spec/containers/0/ports/0/protocol",
    "spec/containers/1/image", "spec/nodeName", "data",
  ]);
});

test("what is typed is a key or a value of the map around it", () => {
  for (const [text, path, at, key, word] of [
    ["spec:\n  repl", ["spec"], "key", undefined, "repl"],
    ["spec:\n  ", ["spec"], "key", undefined, ""],
    ["spec:\n  replicas: ", ["spec"], "value", "replicas", ""],
    ["spec:\n  containers:\n  - na", ["spec", "containers", 0], "key", undefined, "na"],
    ["spec:\n  containers:\n  - name: a\n    im", ["spec", "containers", 0], "key", undefined, "im"],
    ["spec:\n  containers:\n  - name: a\n  - ", ["spec", "containers", 1], "key", undefined, ""],
    ["spec:\n  policy: Alw", ["spec"], "value", "policy", "Alw"],
    ["spec:\n  a: |\n    te", ["spec", "a"], "text", undefined, ""],
    ["spec: # re", [], "text", undefined, ""],
    ["spec:\n  a: 1\nme", [], "key", undefined, "me"],
  ]) {
    const found = placeAt(`${text}\nafter: 1`, text.length);
    assert.deepEqual([found.path, found.at, found.key, found.word], [path, at, key, word], text);
    assert.equal(found.from, text.length - word.length);
  }
});
