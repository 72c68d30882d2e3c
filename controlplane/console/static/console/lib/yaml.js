// YAML as kubectl prints it, and back.

import {
  Document,
  isMap,
  isScalar,
  parseAllDocuments,
  parseDocument,
  visit,
} from "../vendor/yaml.js";

const FIRST = ["apiVersion", "kind", "metadata", "spec", "data", "status"];

/** An object as `kubectl get -o yaml` prints it: members in the order of the alphabet, strings
 *  quoted where YAML 1.1 would take them for something else, long lines not folded. */
export function print(value, { ordered = false } = {}) {
  const document = new Document(sorted(value, ordered), {
    version: "1.1",
    aliasDuplicateObjects: false,
  });
  visit(document, {
    Scalar(key, node) {
      if (typeof node.value !== "string") return;
      if (node.value.includes("\n")) node.type = "BLOCK_LITERAL";
      else node.type = "PLAIN"; // the library quotes where that would read as something else
    },
  });
  return document.toString({
    indentSeq: false,
    lineWidth: 0,
    minContentWidth: 0,
    singleQuote: false,
    nullStr: "null",
    falseStr: "false",
    trueStr: "true",
  });
}

/** The value of one document. Throws an Error whose `line` (from 1) says where it is wrong. */
export function parse(text) {
  const document = parseDocument(text, { version: "1.1", prettyErrors: true, merge: true });
  raise(document);
  return document.toJS({ maxAliasCount: 100 });
}

/** The values of several documents; empty ones are left out. */
export function parseAll(text) {
  return [...parseAllDocuments(text, { version: "1.1", prettyErrors: true, merge: true })]
    .map((document) => (raise(document), document.toJS({ maxAliasCount: 100 })))
    .filter((value) => value !== null && value !== undefined);
}

/** Where in the text each value stands: path (of keys and indexes) -> {from, to, line}, for blame,
 *  completion and errors that name a field. Paths are joined by NUL. */
export function places(text) {
  const document = parseDocument(text, { version: "1.1" });
  const found = new Map();
  const lines = lineStarts(text);
  const walk = (node, path, key) => {
    const range = (key ?? node)?.range;
    if (range) {
      const to = node?.range ? node.range[1] : range[1];
      found.set(path.join("\0"), { from: range[0], to, line: lineOf(lines, range[0]) });
    }
    if (isMap(node)) {
      for (const pair of node.items) {
        const name = isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
        walk(pair.value, [...path, name], pair.key);
      }
    } else if (node?.items) {
      node.items.forEach((item, at) => walk(item, [...path, String(at)], null));
    }
  };
  walk(document.contents, [], null);
  return found;
}

function raise(document) {
  const [first] = document.errors;
  if (!first) return;
  const error = new Error(first.message.split("\n")[0]);
  error.line = first.linePos?.[0].line ?? 1;
  throw error;
}

function sorted(value, ordered, top = true) {
  if (Array.isArray(value)) return value.map((item) => sorted(item, ordered, false));
  if (value === null || typeof value !== "object") return value;
  const names = Object.keys(value);
  if (!ordered) names.sort();
  else if (top) names.sort((a, b) => rank(a) - rank(b));
  return Object.fromEntries(names.map((name) => [name, sorted(value[name], ordered, false)]));
}

function rank(name) {
  const at = FIRST.indexOf(name);
  return at < 0 ? FIRST.length - 1.5 : at;
}

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineOf(starts, offset) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
