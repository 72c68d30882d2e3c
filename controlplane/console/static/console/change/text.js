/* Objects as YAML, and back.

   YAML 1.1 as kubectl reads it (sigs.k8s.io/yaml): `yes` and `on` are booleans and 0644 is octal, but
   timestamps, 1:30 and !!binary are not what they are to YAML. Numbers keep their text
   (`exact.js`). Pure. */

import { Document, isAlias, isMap as isYamlMap, isScalar, isSeq, parseDocument } from "../vendor/yaml.js";
import { Exact, isMap, number, put } from "./exact.js";

const NOT_READ = new Set(["timestamp", "binary", "omap", "pairs", "set", "merge"]);
const NOT_PRINTED = new Set(["binary", "omap", "pairs", "set"]);
const DECIMAL = /^[-+]?(?:0|[1-9][0-9_]*)$/;
const FLOAT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const MOST_ALIASES = 100;
const ENDED = /\n---\s*$/; // an end without another document, as many files have it
const ANOTHER = "one object at a time: what follows --- is another";

const EXACT = {
  identify: (value) => value instanceof Exact,
  default: true,
  tag: "tag:yaml.org,2002:float",
  stringify: ({ value }) => value.text,
};

/** The tags of YAML 1.1 without some; exact numbers before all. */
function tags(without) {
  return (all) => [EXACT, ...all.filter((tag) => !without(tag.tag?.split(":").at(-1), tag))];
}

const READ = {
  version: "1.1",
  customTags: tags((name, tag) => NOT_READ.has(name) || tag.format === "TIME"),
  intAsBigInt: true,
};
const PRINTED = { version: "1.1", customTags: tags((name) => NOT_PRINTED.has(name)) };

/** What a text says: {value, document, problems: [{from, to, message}]}; value is undefined where
    there are problems. from and to: characters of the text. */
export function read(text) {
  const document = parseDocument(text.replace(ENDED, "\n"), { ...READ, prettyErrors: false });
  const problems = [...document.errors, ...document.warnings]
    .map(({ pos: [from, to], code, message }) => (
      { from, to, message: code === "MULTIPLE_DOCS" ? ANOTHER : message }));
  if (problems.length) return { value: undefined, document, problems };
  try {
    return { value: plain(document.contents, { document, aliases: 0 }), document, problems };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const problem = { from: error.node.range[0], to: error.node.range[1], message: error.message };
    return { value: undefined, document, problems: [problem] };
  }
}

class Refused extends Error {
  constructor(node, message) {
    super(message);
    this.node = node;
  }
}

function plain(node, run) {
  if (node === null || node === undefined) return null;
  if (isAlias(node)) {
    run.aliases += 1;
    if (run.aliases > MOST_ALIASES) throw new Refused(node, "too many aliases");
    return plain(node.resolve(run.document), run);
  }
  if (isScalar(node)) return scalar(node);
  if (isSeq(node)) return node.items.map((item) => plain(item, run));
  if (!isYamlMap(node)) throw new Refused(node, "neither a value nor a list nor a map");
  const made = {};
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw new Refused(key ?? node, "a key has to be a string");
    if (key.source === "<<" && key.type === "PLAIN") {
      throw new Refused(key, "merge keys are not read here: write the fields out");
    }
    put(made, typeof key.value === "string" ? key.value : key.source, plain(value, run));
  }
  return made;
}

function scalar(node) {
  const { value, source } = node;
  if (typeof value === "bigint") {
    return number(DECIMAL.test(source) ? source.replace(/[_+]/g, "") : String(value));
  }
  if (typeof value !== "number") return value;
  if (FLOAT.test(source)) return number(source);
  if (!Number.isFinite(value)) throw new Refused(node, "no number that JSON can say");
  return number(String(value));
}

/** An object as kubectl prints it: members in alphabetical order, lists not indented; strings that
    another reader of YAML 1.1 would take for a time are quoted. */
export function print(value) {
  const document = new Document(sorted(value), { ...PRINTED, aliasDuplicateObjects: false });
  return document.toString({ indentSeq: false, lineWidth: 0, singleQuote: false,
    directives: false, nullStr: "null", blockQuote: true });
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  const made = new Map();
  for (const key of Object.keys(value).sort()) made.set(key, sorted(value[key]));
  return made;
}

/** Where in the text of a document a path is: {from, to} of its key, or of the item of a list; of
    the nearest one above it that is there. */
export function rangeOf(document, path) {
  let node = document.contents;
  let range = node?.range ? { from: node.range[0], to: node.range[0] } : { from: 0, to: 0 };
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (typeof step === "string" && isYamlMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && (key.value === step || key.source === step));
      if (!pair) break;
      range = { from: pair.key.range[0], to: pair.key.range[1] };
      node = pair.value;
    } else if (typeof step === "number" && isSeq(node) && node.items[step]?.range) {
      node = node.items[step];
      range = { from: node.range[0], to: firstLine(node) };
    } else break;
  }
  return range;
}

function firstLine(node) {
  return isYamlMap(node) && node.items.length ? node.items[0].key.range[1] : node.range[1];
}
