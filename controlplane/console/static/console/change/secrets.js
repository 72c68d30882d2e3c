/* Values of Secrets stay out of sight in what is edited and compared. Pure. */

import { equal, has, isMap, put } from "./exact.js";

export const MASK = "(hidden, keeps its value)";
export const CHANGED = "(hidden, another value)";
const APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export function isSecret(object) {
  return object.apiVersion === "v1" && object.kind === "Secret";
}

/** With MASK in the place of each value. besides: where a value differs from this object's, it is
    CHANGED. */
export function mask(object, besides = object) {
  if (!isSecret(object)) return object;
  return mapped(object, (value, part, key) => (
    equal(value, at(besides, part, key)) ? MASK : CHANGED));
}

/** With the live values again where the text left the mask. */
export function unmask(object, live) {
  if (!isMap(object) || !isSecret(object)) return object;
  return mapped(object, (value, part, key) => (
    value === MASK ? at(live, part, key) ?? value : value));
}

function at(object, part, key) {
  const values = part === "annotations" ? object.metadata?.annotations : object[part];
  return has(values, key) ? values[key] : undefined;
}

function mapped(object, change) {
  const copy = { ...object };
  for (const part of ["data", "stringData"]) {
    if (isMap(object[part])) copy[part] = values(object[part], (v, key) => change(v, part, key));
  }
  if (isMap(object.metadata?.annotations)) {
    copy.metadata = { ...object.metadata, annotations: values(object.metadata.annotations,
      (v, key) => (key === APPLIED ? change(v, "annotations", key) : v)) };
  }
  return copy;
}

function values(map, change) {
  const made = {};
  for (const key of Object.keys(map)) put(made, key, change(map[key], key));
  return made;
}
