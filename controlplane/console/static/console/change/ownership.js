/* Who owns which field: metadata.managedFields (FieldsV1, KEP-555). Pure. */

import { clone, equal, has, isMap, parse, put } from "./exact.js";
import { indexOf } from "./paths.js";

/** The step of a FieldsV1 key: `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`; undefined for `.`. */
export function stepOf(key) {
  const text = key.slice(2);
  if (key.startsWith("f:")) return text;
  if (key.startsWith("k:")) return { key: parse(text) };
  if (key.startsWith("v:")) return { value: parse(text) };
  return key.startsWith("i:") ? Number(text) : undefined;
}

function below(fields) {
  return Object.keys(fields).filter((key) => key !== ".");
}

/** The managers that own a path, something below it, or the one value that it is part of:
    [{manager, operation, subresource, apiVersion, time}]. */
export function owners(object, path) {
  return entries(object).filter((entry) => owns(entry.fieldsV1 ?? {}, path))
    .map(({ fieldsV1, fieldsType, ...entry }) => entry);
}

export function entries(object) {
  const list = object?.metadata?.managedFields;
  return Array.isArray(list) ? list : [];
}

function owns(fields, path) {
  let node = fields;
  for (const step of path) {
    const keys = below(node);
    if (!keys.length) return node !== fields && !has(node, ".");
    const key = keys.find((k) => equal(stepOf(k), step));
    if (key === undefined) return false;
    node = node[key];
  }
  return true;
}

/** What a manager has applied to the object, as an entry; undefined where it has nothing there. */
export function applied(object, manager) {
  return entries(object).find((entry) => entry.manager === manager
    && entry.operation === "Apply" && !entry.subresource);
}

/** The part of a value that a set of fields means; undefined where nothing of it is there. */
export function extract(fields, value) {
  const keys = below(fields);
  if (!isMap(value) && !Array.isArray(value)) return value;
  if (!keys.length) {
    if (!has(fields, ".")) return clone(value);
    return Array.isArray(value) ? [] : {};
  }
  const part = Array.isArray(value) ? fromList(fields, keys, value) : fromMap(fields, keys, value);
  const empty = Array.isArray(part) ? !part.length : !Object.keys(part).length;
  return empty && !has(fields, ".") ? undefined : part;
}

function fromMap(fields, keys, value) {
  const part = {};
  for (const key of keys) {
    const name = stepOf(key);
    const inner = has(value, name) ? extract(fields[key], value[name]) : undefined;
    if (inner !== undefined) put(part, name, inner);
  }
  return part;
}

function fromList(fields, keys, list) {
  const wanted = new Map(keys.map((key) => [indexOf(list, stepOf(key)), key]));
  const part = [];
  list.forEach((item, at) => {
    if (!wanted.has(at)) return;
    const key = wanted.get(at);
    const inner = extract(fields[key], item);
    const names = isMap(item) ? stepOf(key).key ?? {} : {};
    if (isMap(item)) part.push({ ...clone(names), ...inner });
    else part.push(item);
  });
  return part;
}
