/* What the schema says to a text that is being typed: how it may go on, and what it has not heard
   of. The server's strict validation has the last word. Pure. */

import { Exact, has, isMap } from "./exact.js";
import { typeName } from "./schema.js";
import { read } from "./text.js";
import { get } from "./paths.js";

const TYPES = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => (value instanceof Exact ? /^-?\d+$/.test(value.text) : Number.isInteger(value)),
  number: (value) => typeof value === "number" || value instanceof Exact,
  array: Array.isArray,
  object: isMap,
};
const MOST = 50;

/** How a text may go on at a place of `cursor.placeAt`: [{label, apply, detail, info}]. */
export function completions({ schemas, node }, text, place) {
  const around = schemas.at(node, place.path);
  if (!around) return [];
  if (place.at === "value") return valuesOf(schemas.child(around, place.key));
  const there = siblings(text, place);
  return Object.keys(around.properties ?? {}).filter((name) => !has(there, name)).map((name) => {
    const child = schemas.child(around, name);
    const opens = child?.type === "object" || child?.type === "array" || isMap(child?.properties);
    const required = around.required?.includes(name);
    return { label: name, apply: `${name}:${opens ? "" : " "}`, detail: typeName(child),
      info: child?.description, boost: required ? 1 : 0 };
  });
}

/** The fields that the map being typed in has already, in as much of the text as can be read. */
function siblings(text, place) {
  const start = text.lastIndexOf("\n", place.from - 1) + 1;
  const end = text.indexOf("\n", place.from);
  const rest = end < 0 ? "" : text.slice(end);
  const { value } = read(text.slice(0, start) + rest);
  return value === undefined ? {} : get(value, place.path) ?? {};
}

function valuesOf(node) {
  if (node?.type === "boolean") return ["true", "false"].map((label) => ({ label }));
  const words = [...node?.enum ?? []];
  if (node?.default !== undefined && !words.length && !isMap(node.default)) words.push(node.default);
  return words.filter((word) => word !== "").map((word) => ({ label: String(word),
    detail: word === node.default ? "default" : "" }));
}

/** Fields that the schema does not know, values of another type, required fields that are missing:
    [{path, whole, text, message}]. */
export function complaints({ schemas, node }, value) {
  const found = [];
  check(schemas, node, value, [], found);
  return found.slice(0, MOST);
}

function check(schemas, node, value, path, found) {
  if (!node || value === null) return;
  const say = (message) => found.push({ path, whole: true, text: "", message });
  const free = node["x-kubernetes-int-or-string"] || node.oneOf || node.anyOf;
  if (!free && TYPES[node.type] && !TYPES[node.type](value)) {
    say(`${typeName(node)} is wanted here`);
    return;
  }
  if (node.enum && !node.enum.includes(value)) say(`one of: ${node.enum.join(", ")}`);
  if (Array.isArray(value)) {
    value.forEach((item, at) => check(schemas, schemas.child(node, 0), item, [...path, at], found));
  } else if (isMap(value)) checkMap(schemas, node, value, path, found, say);
}

function checkMap(schemas, node, value, path, found, say) {
  for (const name of node.required ?? []) {
    const optional = schemas.child(node, name)?.default !== undefined;
    if (!has(value, name) && !optional) say(`${name} is required`);
  }
  const open = !isMap(node.properties) || node["x-kubernetes-preserve-unknown-fields"]
    || node.additionalProperties;
  for (const name of Object.keys(value)) {
    const child = schemas.child(node, name);
    const here = [...path, name];
    if (child) check(schemas, child, value[name], here, found);
    else if (!open) found.push({ path: here, whole: true, text: "", message: "the schema has no such field" });
  }
}
